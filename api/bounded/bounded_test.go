// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bounded_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/bounded"
)

var errWrong = errors.New("wrong")

func TestFewItemsAreLookedAt(t *testing.T) {
	for name, tc := range map[string]struct {
		of            []error
		looks, enough int
	}{
		"of a bad list":  {of: []error{errWrong}, looks: bounded.Most + 1, enough: bounded.Most + 1},
		"of a good list": {of: []error{nil}, looks: 10 * bounded.Most},
		"of an item with several problems": {
			of: []error{errWrong, nil, errWrong}, looks: bounded.Most/2 + 1, enough: bounded.Most + 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			looks := 0
			found := bounded.In(10*bounded.Most, func(int) []error {
				looks++
				return slices.Clone(tc.of)
			})
			assert.Equal(t, tc.looks, looks)
			assert.Len(t, found, tc.enough)
		})
	}
}

func TestMoreProblemsThanAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		problems []error
		named    int
		more     bool
	}{
		"few":          {problems: []error{nil, errWrong, nil, errWrong}, named: 2},
		"just as many": {problems: slices.Repeat([]error{errWrong, nil}, bounded.Most), named: bounded.Most},
		"more":         {problems: slices.Repeat([]error{errWrong}, bounded.Most+1), named: bounded.Most, more: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := bounded.Join(tc.problems)
			require.Error(t, err)
			assert.Equal(t, tc.named, strings.Count(err.Error(), "wrong"))
			assert.Equal(t, tc.more, strings.Contains(err.Error(), "there are more problems than these"))
		})
	}
	assert.NoError(t, bounded.Join([]error{nil}))
}
