// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
)

// DecodeJSON reads JSON into a Go value. Among maps, slices and scalars, whole numbers are int64 and others float64, and keys match in upper and
// lower case exactly. A whole number that an int64 does not hold is an error. Errors are of type *Error.
func DecodeJSON(text []byte, into any) error {
	if err := decodeJSON(text, into); err != nil {
		return err
	}
	return CheckNumbers(text)
}

func decodeJSON(text []byte, into any) error {
	err := kjson.UnmarshalCaseSensitivePreserveInts(text, into)
	if err == nil {
		return nil
	}
	if isSyntax, _ := kjson.SyntaxErrorOffset(err); isSyntax {
		return &Error{"is not JSON", err}
	}
	return &Error{"cannot be read", err}
}

// readsData reports whether a Go value takes documents of any kind, and so numbers of any kind.
func readsData(into any) bool {
	switch into.(type) {
	case *any, *map[string]any:
		return true
	}
	return false
}

var (
	manyDigits = regexp.MustCompile(`[0-9][0-9_]{18}`)
	digitsOnly = regexp.MustCompile(`^[-+]?[0-9][0-9_]*$`)
)

// CheckNumbers refuses a YAML or JSON text whose first document has a whole number that an int64 does not hold: decoders make another number of it.
// The error, of type *Error, names the place.
func CheckNumbers(text []byte) error {
	if !manyDigits.Match(text) {
		return nil
	}
	var document yamlv3.Node
	if yamlv3.Unmarshal(text, &document) != nil {
		return nil // what is not YAML is found where it is decoded
	}
	at, found := beyondInt64(&document)
	if !found {
		return nil
	}
	if at != "" {
		at = " at " + Beginning(strings.TrimPrefix(at, "."), placeLength)
	}
	return &Error{fmt.Sprintf("has a whole number of more than 64 bits%s, which would become another number; write it as a text, in quotes", at), ErrTooMuch}
}

// placeLength is how many bytes of the place of a number an error shows.
const placeLength = 200

// beyondInt64 finds a whole number that an int64 does not hold, and says where it is. What an alias stands for is met where it is written out. Digits that
// no float64 holds either are a text in YAML.
func beyondInt64(node *yamlv3.Node) (at string, found bool) {
	if node.Kind == yamlv3.ScalarNode {
		if node.Style != 0 || !digitsOnly.MatchString(node.Value) {
			return "", false
		}
		digits := strings.ReplaceAll(node.Value, "_", "")
		_, whole := strconv.ParseInt(digits, 0, 64)
		_, float := strconv.ParseFloat(digits, 64)
		return "", whole != nil && float == nil
	}
	for i, child := range node.Content {
		if node.Kind == yamlv3.MappingNode && i%2 == 0 {
			continue // a key is a text
		}
		at, found := beyondInt64(child)
		switch {
		case !found:
		case node.Kind == yamlv3.MappingNode:
			return "." + node.Content[i-1].Value + at, true
		case node.Kind == yamlv3.SequenceNode:
			return fmt.Sprintf("[%d]%s", i, at), true
		default:
			return at, true
		}
	}
	return "", false
}
