// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package beginning_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		longest int
		want    string
	}{
		"short":                  {"abc", 3, "abc"},
		"long":                   {"abcdef", 5, "ab…"},
		"a character in the cut": {"aäöü", 6, "aä…"},
		"no room":                {"abcdef", 3, "…"},
	} {
		got := beginning.Of(c.text, c.longest)
		assert.Equal(t, c.want, got, name)
	}
}

func TestABeginningIsValidAndBounded(t *testing.T) {
	text := strings.Repeat("日本語 text 🙂 ", 20)
	for longest := 3; longest <= len(text); longest++ {
		got := beginning.Of(text, longest)
		assert.True(t, utf8.ValidString(got), longest)
		assert.LessOrEqual(t, len(got), longest)
	}
}
