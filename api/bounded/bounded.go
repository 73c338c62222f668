// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package bounded keeps the problems of an object few. A list of empty entries has more of them than an object has bytes to name them in: looking
// for all, or joining their texts, takes a process more than it has.
package bounded

import (
	"errors"
	"maps"
	"slices"
)

// Most is how many problems of an object are named.
const Most = 100

// More says that there are more problems than are named.
const More = "there are more problems than these; correct them first"

// In returns the problems of the items of a list, without those that are nil. It looks at no further item once it has more than Most.
func In[P comparable](items int, problemsOf func(item int) []P) []P {
	var none P
	var found []P
	for item := 0; item < items && len(found) <= Most; item++ {
		found = append(found, slices.DeleteFunc(problemsOf(item), func(problem P) bool { return problem == none })...)
	}
	return found
}

// InMap returns the problems of the entries of a map in the order of their keys, as In does.
func InMap[V any, P comparable](entries map[string]V, problemsOf func(key string, value V) []P) []P {
	keys := slices.Sorted(maps.Keys(entries))
	return In(len(keys), func(i int) []P { return problemsOf(keys[i], entries[keys[i]]) })
}

// Join returns one error for several, of which some may be nil. It names the first Most, and says whether there are more.
func Join(problems []error) error {
	found := slices.DeleteFunc(slices.Clone(problems), func(problem error) bool { return problem == nil })
	if len(found) > Most {
		found = append(found[:Most], errors.New(More))
	}
	return errors.Join(found...)
}
