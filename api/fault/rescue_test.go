// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// described returns what is said of a function that panics.
func described(breaks func()) (text string) {
	defer func() { text = Describe(recover()) }()
	breaks()
	return ""
}

func TestAPanicIsDescribedInOneLine(t *testing.T) {
	var missing map[string]int
	var none []int
	for name, tc := range map[string]struct {
		breaks func()
		starts string
	}{
		"a word":   {func() { panic("password") }, "a value of type string in "},
		"an error": {func() { panic(assert.AnError) }, "a value of type *errors.errorString in "},
		"no index": {func() { panic(fmt.Errorf("password: %w", brokenIndex())) }, "runtime error: index out of range [0] with length 0 in "},
		"an index": {func() { _ = none[len(missing)] }, "runtime error: index out of range [0] with length 0 in "},
		"a map":    {func() { missing["a"] = 1 }, "assignment to entry in nil map in "},
	} {
		t.Run(name, func(t *testing.T) {
			text := described(tc.breaks)
			assert.True(t, strings.HasPrefix(text, tc.starts), text)
			assert.Contains(t, text, "(fault/rescue_test.go:")
			assert.Contains(t, text, "api/fault.")
		})
	}
}

// brokenIndex returns the error of a mistake with an index.
func brokenIndex() (err error) {
	defer func() { err, _ = recover().(error) }()
	var none []int
	_ = none[len(none)]
	return nil
}

func TestAPanicThatIsSurvivedIsToldAndAnError(t *testing.T) {
	handlers := slices.Clone(utilruntime.PanicHandlers)
	t.Cleanup(func() { utilruntime.PanicHandlers = handlers })
	var told []string
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, value any) { told = append(told, Describe(value)) })
	err := Survived(t.Context(), func() error { panic("password") })
	require.ErrorContains(t, err, "it broke off by a panic: a value of type string in ")
	assert.NotContains(t, err.Error(), "\n")
	require.Len(t, told, 1)
	assert.Contains(t, told[0], "TestAPanicThatIsSurvivedIsToldAndAnError.func", "where it began")
}

func TestWhatDoesNotPanicIsLeftAlone(t *testing.T) {
	require.NoError(t, Survived(t.Context(), func() error { return nil }))
	require.ErrorIs(t, Survived(t.Context(), func() error { return assert.AnError }), assert.AnError)
}
