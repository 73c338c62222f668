// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"bytes"
	"crypto/sha1" // #nosec G505 -- the API defines names and hashes as SHA-1
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
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
