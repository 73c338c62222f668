// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheAcceptanceMatrixIsComplete(t *testing.T) {
	chapters, err := Acceptance(loaded(t))
	require.NoError(t, err)
	untested, unknown, missing := AcceptanceGaps(chapters, files(t))
	assert.Empty(t, untested, "rows of %s have neither a test nor a gap", AcceptanceFile)
	assert.Empty(t, unknown, "tests bear rows that %s does not have", AcceptanceFile)
	assert.Empty(t, missing, "%s names tests that do not exist", AcceptanceFile)
	seen := map[string]bool{}
	for _, chapter := range chapters {
		for _, row := range chapter.Rows {
			assert.NotEmpty(t, row.Scenario, row.ID)
			assert.False(t, seen[row.ID], "%s is twice in %s", row.ID, AcceptanceFile)
			seen[row.ID] = true
		}
	}
	assert.Greater(t, len(seen), 130)
}

func TestGeneratedAcceptance(t *testing.T) {
	chapters, err := Acceptance(loaded(t))
	require.NoError(t, err)
	fresh, err := RenderAcceptance(loaded(t), chapters, files(t))
	require.NoError(t, err)
	committed, err := os.ReadFile(loaded(t).Path(AcceptancePage))
	require.NoError(t, err)
	assert.True(t, fresh == string(committed), "%s is stale: %s", AcceptancePage, cure)
}

func TestRowsOfTests(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		want map[string][]string
	}{
		"by name":        {`func TestB301Chain(t *testing.T) {}`, map[string][]string{"B301": {"x:TestB301Chain"}}},
		"of a sample":    {`func TestGateB1002AContainer(t *testing.T) {}`, map[string][]string{"B1002": {"x:TestGateB1002AContainer"}}},
		"four digits":    {`func TestB1001AContainer(t *testing.T) {}`, map[string][]string{"B1001": {"x:TestB1001AContainer"}}},
		"several":        {`func TestC09ToC11All(t *testing.T) {}`, map[string][]string{"C09": {"x:TestC09ToC11All"}, "C10": {"x:TestC09ToC11All"}, "C11": {"x:TestC09ToC11All"}}},
		"cases":          {`func TestBoth(t *testing.T) { _ = map[string]int{"B901 new": 1, "other": 2} }`, map[string][]string{"B901": {"x:TestBoth"}}},
		"other letters":  {`func TestE08Revision(t *testing.T) {}`, map[string][]string{}},
		"no test":        {`func B301(t *testing.T) {}`, map[string][]string{}},
		"a word with A":  {`func TestA(t *testing.T) {}`, map[string][]string{}},
		"method":         {`func (s *suite) TestB301Chain(t *testing.T) {}`, map[string][]string{}},
		"same row twice": {`func TestB901Both(t *testing.T) { _ = map[string]int{"B901 new": 1} }`, map[string][]string{"B901": {"x:TestB901Both"}}},
	} {
		t.Run(name, func(t *testing.T) {
			syntax, err := parser.ParseFile(token.NewFileSet(), "x/x_test.go", "package x\n"+c.code, parser.SkipObjectResolution)
			require.NoError(t, err)
			byRow, _ := AcceptanceTests([]*File{{Path: "x/x_test.go", Syntax: syntax}})
			assert.Equal(t, c.want, byRow)
		})
	}
}

// TestPagesNameTestsThatExist keeps the tests that pages name at those that there are.
func TestPagesNameTestsThatExist(t *testing.T) {
	_, folders := AcceptanceTests(files(t))
	named := regexp.MustCompile("`((?:Test|Benchmark)[A-Z][A-Za-z0-9]+)`")
	texts(t, func(file, content string) {
		if path.Ext(file) != ".md" || file == ReasonsPage { // reasons may begin with Test
			return
		}
		for _, found := range named.FindAllStringSubmatch(content, -1) {
			assert.NotEmpty(t, folders[found[1]], "%s names %s, which does not exist", file, found[1])
		}
	})
}

// TestEachSoakTestRuns finds tests below tests/soak that nothing runs.
func TestEachSoakTestRuns(t *testing.T) {
	byName := regexp.MustCompile(`^Test(Gate|E2E|Soak|Main$|NobodyStopsSlowsOrSwells$|RandomLandscapes$)`)
	_, folders := AcceptanceTests(files(t))
	for name, all := range folders {
		for _, folder := range all {
			if strings.HasPrefix(folder, "tests/soak") && folder != "tests/soak/chaos" && strings.HasPrefix(name, "Test") {
				assert.Regexp(t, byName, name, "%s: name it TestSoak…, TestE2E… or TestGate…", folder)
			}
		}
	}
}
