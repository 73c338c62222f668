// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

const (
	// longestValue is how many bytes of a value errors show, longestCause how many of what a type says about its value.
	longestValue = 60
	longestCause = 300
)

// Brief returns the beginning of a value for messages.
func Brief[T ~string](value T) string { return beginning.Of(value, longestValue) }

// fieldIn returns the path of the first field that cannot be decoded into a type: the one that fails alone. Empty means the whole.
func fieldIn(tree, into any) string {
	shape := reflect.TypeOf(into).Elem()
	refused := func(whole any) bool {
		alone, err := json.Marshal(whole)
		return err == nil && kjson.UnmarshalCaseSensitivePreserveInts(alone, reflect.New(shape).Interface()) != nil
	}
	return strings.TrimPrefix(narrow(tree, func(v any) any { return v }, refused), ".")
}

// narrow returns the path within a value of what is refused alone. Whole makes the document from a value in the place of this one.
func narrow(value any, whole func(any) any, refused func(any) bool) string {
	switch v := value.(type) {
	case map[string]any:
		if refused(whole(map[string]any{})) {
			return ""
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inside := func(inner any) any { return whole(map[string]any{key: inner}) }
			if refused(inside(v[key])) {
				return "." + Brief(key) + narrow(v[key], inside, refused)
			}
		}
	case []any:
		if refused(whole([]any{})) {
			return ""
		}
		for i, element := range v {
			inside := func(inner any) any { return whole([]any{inner}) }
			if refused(inside(element)) {
				return fmt.Sprintf("[%d]", i) + narrow(element, inside, refused)
			}
		}
	}
	return ""
}
