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
func fieldIn(tree any, shape reflect.Type) string {
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
		keys := slices.Sorted(maps.Keys(v))
		inside := func(from, to int) any {
			part := make(map[string]any, to-from)
			for _, key := range keys[from:to] {
				part[key] = v[key]
			}
			return whole(part)
		}
		if i, found := first(len(keys), inside, refused); found {
			only := func(inner any) any { return whole(map[string]any{keys[i]: inner}) }
			return "." + Brief(keys[i]) + narrow(v[keys[i]], only, refused)
		}
	case []any:
		inside := func(from, to int) any { return whole(v[from:to]) }
		if i, found := first(len(v), inside, refused); found {
			only := func(inner any) any { return whole([]any{inner}) }
			return fmt.Sprintf("[%d]", i) + narrow(v[i], only, refused)
		}
	}
	return ""
}

// first returns the first of some parts that is refused, also alone. Inside makes the document with the parts in a range. It halves the
// range, so that all that is looked at is no more than twice the document.
func first(count int, inside func(from, to int) any, refused func(any) bool) (at int, found bool) {
	if count == 0 || refused(inside(0, 0)) {
		return 0, false
	}
	from, to := 0, count
	for to-from > 1 {
		middle := from + (to-from)/2
		if refused(inside(from, middle)) {
			to = middle
		} else {
			from = middle
		}
	}
	return from, refused(inside(from, to))
}
