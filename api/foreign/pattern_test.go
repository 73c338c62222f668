// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPatternsThatCostMuchAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ text, problem string }{
		"a name":                       {"web-[0-9]{1,3}", ""},
		"fifty names":                  {"^(" + strings.Repeat("cluster-of-team-1|", 50) + "last)$", ""},
		"case does not count":          {"(?i)web-.*", ""},
		"seven characters of thousand": {"a{1000}a{1000}a{1000}", "repeats too much"},
		"repeats of repeats":           {"((a{10}){10}){10}", ""},
		"many repeats of repeats":      {strings.Repeat("((a{10}){10}){10}", 3), "repeats too much"},
		"a repeat without end":         {"(" + strings.Repeat("a", 100) + "){30,}", "repeats too much"},
		"longer than needed":           {strings.Repeat("x", 3000), "is longer than 2048 characters"},
		"nonsense":                     {"(", "is not a regular expression (RE2): missing closing )"},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckPattern(tc.text)
			if tc.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.problem)
		})
	}
}

func TestAPatternIsCheckedAsItIsUsed(t *testing.T) {
	require.Error(t, CheckPattern("a)(b"))
	require.NoError(t, CheckWholePattern("a)(b"))
	require.NoError(t, CheckPattern(`\Qa`))
	require.Error(t, CheckWholePattern(`\Qa`))
}

// TestStepsAreNoFewerThanInstructions compares with what the expressions are compiled to.
func TestWhole(t *testing.T) {
	pattern := regexp.MustCompile(Whole("a|b"))
	assert.True(t, pattern.MatchString("b"))
	assert.False(t, pattern.MatchString("ab"))
}
