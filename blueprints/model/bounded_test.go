// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

func TestFewProblemsOfABlueprintAreNamed(t *testing.T) {
	many := "[" + strings.Repeat("{},", 10*fault.MostProblems) + "{}]"
	for name, text := range map[string]string{
		"imports":             "imports: " + many,
		"conditional imports": "imports: [{name: a, required: false, schema: {}, imports: " + many + "}]",
		"exports":             "exports: " + many,
		"executions":          "deployExecutions: " + many,
		"sub-installations":   "subinstallations: " + many,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(head + text)
			var invalid *ValidationError
			require.ErrorAs(t, err, &invalid)
			require.Len(t, invalid.Problems, fault.MostProblems+1)
			assert.Contains(t, invalid.Problems[fault.MostProblems].Message, "there are more problems")
		})
	}
}

// TestConditionalImportsNestAFewTimes has a depth whose paths together are as long as the square of it.
func TestConditionalImportsNestAFewTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		depth   int
		problem string
	}{
		"as people write": {maxConditions, ""},
		"as nobody does":  {maxConditions + 1, "conditional imports are nested deeper than 32"},
	} {
		t.Run(name, func(t *testing.T) {
			imports := "[]"
			for i := range tc.depth + 1 {
				imports = "[{name: a" + strings.Repeat("b", i) + ", required: false, schema: {}, imports: " + imports + "}]"
			}
			_, err := load(head + "imports: " + imports)
			if tc.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.problem)
		})
	}
}
