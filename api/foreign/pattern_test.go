// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"regexp"
	"regexp/syntax"
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
		"classes of many ranges":       {strings.Repeat(`\W`, 300), ""},
		"more of them":                 {strings.Repeat(`\W`, 600), "repeats too much"},
		"longer than needed":           {strings.Repeat("x", 3000), "is longer than 2048 characters"},
		"nonsense":                     {"(", "is not a regular expression (RE2): missing closing )"},
		"a class of Unicode":           {`\pL`, "other than ASCII"},
		"the others of Unicode":        {`\P{Lu}`, "other than ASCII"},
		"a range of Unicode":           {`(?i)[B-\x{1e943}]`, "other than ASCII"},
		"a range in short":             {"(?i)[B-\U0001e943]", "other than ASCII"},
	} {
		t.Run(name, func(t *testing.T) {
			err := new(Patterns).Check(tc.text)
			if tc.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.problem)
		})
	}
}

func TestPatternsOfADocumentHaveALimitTogether(t *testing.T) {
	var patterns Patterns
	for range 20 {
		require.NoError(t, patterns.Check("[a-z]{0,1000}"), "each is small")
	}
	var problems []error
	for range 20 {
		if err := patterns.Check("[a-z]{0,800}"); err != nil {
			problems = append(problems, err)
		}
	}
	require.Len(t, problems, 1, "which is said once")
	require.ErrorContains(t, problems[0], "repeats too much together")
}

func TestAPatternIsCheckedAsItIsUsed(t *testing.T) {
	require.Error(t, new(Patterns).Check("a)(b"))
	require.NoError(t, new(Patterns).CheckWhole("a)(b"))
	require.NoError(t, new(Patterns).Check(`\Qa`))
	require.Error(t, new(Patterns).CheckWhole(`\Qa`))
}

// TestStepsAreNoFewerThanInstructions compares with what the expressions are compiled to.
func TestStepsAreNoFewerThanInstructions(t *testing.T) {
	for _, text := range []string{
		"", "a", "abc", "a*", "a+", "a?", "(a)", "(a|b)", "a|bc|d", "(?:|a|)", "[a-z]", "[^a]", ".", "^a$", `\bx`, "(?i)abc", "(a*)*", "(a?)+", "(|a)*",
		"a{3}", "a{0}", "a{0,1}", "a{2,}", "a{0,}", "a{1,}", "a{3,7}", "(ab|c){2,5}", "((a{2}){3}){4}", "(a*){3,9}", "(?:a?){0,20}", "(^|a){5}", "web-.*-[0-9]{1,5}",
	} {
		t.Run(text, func(t *testing.T) {
			parsed, err := syntax.Parse(text, syntax.Perl)
			require.NoError(t, err)
			steps := stepsOf(parsed)
			program, err := syntax.Compile(parsed.Simplify())
			require.NoError(t, err)
			const begin = 2 // each program has an instruction that fails, and one that matches
			assert.GreaterOrEqual(t, steps+begin, len(program.Inst))
		})
	}
}

func TestWhole(t *testing.T) {
	pattern := regexp.MustCompile(Whole("a|b"))
	assert.True(t, pattern.MatchString("b"))
	assert.False(t, pattern.MatchString("ab"))
}
