// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The budget of lines per function, signature and braces included; flag blocks are exempt from the last one. Functions here are alike in
// length, so the median is bounded loosely and the long ones tightly.
const (
	medianLines = 10
	p90Lines    = 30
	p99Lines    = 80
	mostLines   = 100
)

func files(t *testing.T) []*File {
	t.Helper()
	files, err := Sources()
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestFunctionsAreShort(t *testing.T) {
	functions := Functions(files(t))
	require.NotEmpty(t, functions)
	median, p90, p99 := Percentile(functions, 50), Percentile(functions, 90), Percentile(functions, 99)
	t.Logf("%d functions: median %d, p90 %d, p99 %d, longest %d lines (%s)",
		len(functions), median, p90, p99, functions[0].Lines, functions[0].At)
	assert.LessOrEqual(t, median, medianLines, "median")
	assert.LessOrEqual(t, p90, p90Lines, "p90")
	assert.LessOrEqual(t, p99, p99Lines, "p99")
}

func TestNoFunctionIsTooLong(t *testing.T) {
	for _, f := range Functions(files(t)) {
		if !f.Flags {
			assert.LessOrEqual(t, f.Lines, mostLines, "%s: %s: split it by what it decides", f.At, f.Name)
		}
	}
}

func TestPercentile(t *testing.T) {
	functions := []Function{{Lines: 100}, {Lines: 9}, {Lines: 8}, {Lines: 3}, {Lines: 1}}
	assert.Equal(t, 8, Percentile(functions, 50))
	assert.Equal(t, 100, Percentile(functions, 99))
	assert.Zero(t, Percentile(nil, 50))
}
