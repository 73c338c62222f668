// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package storage says how what flows between objects is stored: under which names, secret values in Secrets, and the templates of deploy items in
// the spec of an Execution.
package storage

import (
	"bytes"
	"crypto/sha1" // #nosec G505 -- the API defines names and hashes as SHA-1
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// maxNameLength keeps generated names usable as label values.
const maxNameLength = 63

var (
	plainName   = regexp.MustCompile(`^([a-z0-9]|([a-z0-9][a-z0-9.-]*[a-z0-9]))$`)
	nameAlpha   = "abcdefghijklmnopqrstuvwxyz234567"
	nameEncoder = base32.NewEncoding(nameAlpha).WithPadding(base32.NoPadding)
)

// InstallationScope is the scope of the data of an Installation: Inst.<name>.
func InstallationScope(name string) string { return "Inst." + name }

// ExecutionScope is the scope of the data of an Execution: Exec.<name>.
func ExecutionScope(name string) string { return "Exec." + name }

// DataName returns the object name of the DataObject or Target with a key in a scope; the root scope is "". A key that
// begins with # is the rest of it in every scope.
func DataName(scope, key string) string {
	if rest, ok := strings.CutPrefix(key, "#"); ok {
		return rest
	}
	if scope == "" && plainName.MatchString(key) {
		return key
	}
	sum := sha1.Sum([]byte(scope + "/" + key)) // #nosec G401 -- the API defines names as SHA-1
	return nameEncoder.EncodeToString(sum[:])
}

// DataHash returns the hash that managed DataObjects carry: hex SHA-1 over the data as JSON indented with two spaces.
func DataHash(data v1alpha1.AnyJSON) string {
	raw, err := data.MarshalJSON()
	if err != nil {
		raw = data.RawMessage
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err == nil {
		raw = indented.Bytes()
	}
	sum := sha1.Sum(raw) // #nosec G401 -- the API defines hashes as SHA-1
	return hex.EncodeToString(sum[:])
}

// ChildName returns a deterministic name of at most 63 characters for a child of parent. Different pairs give different
// names: a hash tells them apart.
func ChildName(parent, child string) string {
	return ShortChildName(parent, child, maxNameLength)
}

// ShortChildName is ChildName for names of at most length characters.
func ShortChildName(parent, child string, length int) string {
	sum := sha1.Sum([]byte(parent + "/" + child)) // #nosec G401 -- not a secret, only a short name
	suffix := "-" + nameEncoder.EncodeToString(sum[:])[:8]
	name := sanitize(parent + "-" + strings.ToLower(child))
	if len(name)+len(suffix) > length {
		name = name[:length-len(suffix)]
	}
	return strings.TrimRight(name, "-.") + suffix
}

func sanitize(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, name)
}

// SameJSON compares two values as the API server stores them: raw JSON inside may be formatted differently.
func SameJSON(a, b any) (bool, error) {
	left, err := encoded(a)
	if err != nil {
		return false, err
	}
	right, err := encoded(b)
	if err != nil || bytes.Equal(left, right) {
		return err == nil, err
	}
	var leftValue, rightValue any
	if err := json.Unmarshal(left, &leftValue); err != nil {
		return false, err
	}
	if err := json.Unmarshal(right, &rightValue); err != nil {
		return false, err
	}
	return reflect.DeepEqual(leftValue, rightValue), nil
}

// SameRawJSON reports whether two texts are the same JSON. Numbers are compared digit by digit: as floats, large ones would lose their last.
func SameRawJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var left, right any
	return decodeExactly(a, &left) && decodeExactly(b, &right) && reflect.DeepEqual(left, right)
}

func decodeExactly(raw []byte, into *any) bool {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into) == nil
}

func encoded(value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode for comparison: %w", err)
	}
	return raw, nil
}
