// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

const (
	// AcceptancePage says which tests hold what users of Gardener Landscaper can do.
	AcceptancePage = "docs/acceptance.md"
	// AcceptanceFile has its rows.
	AcceptanceFile = "docs/spec/acceptance.yaml"
)

// Chapter is a part of the acceptance matrix.
type Chapter struct {
	// Title is its heading.
	Title string `json:"title"`
	// Rows are what users can do.
	Rows []AcceptanceRow `json:"rows"`
}

// AcceptanceRow is one thing that users can do.
type AcceptanceRow struct {
	// ID is a letter and a number, as B301.
	ID string `json:"id"`
	// Scenario says what it is.
	Scenario string `json:"scenario"`
	// Tests are names of tests and benchmarks beside those that bear the ID, with folder and colon before where several folders have it.
	Tests []string `json:"tests,omitempty"`
	// Gap says what no test holds, and why.
	Gap string `json:"gap,omitempty"`
}

// Acceptance reads AcceptanceFile.
func Acceptance(module *Module) ([]Chapter, error) {
	content, err := os.ReadFile(module.Path(AcceptanceFile))
	if err != nil {
		return nil, err
	}
	var chapters []Chapter
	if err := foreign.Unmarshal(content, &chapters); err != nil {
		return nil, fmt.Errorf("%s: %w", AcceptanceFile, err)
	}
	return chapters, nil
}

var (
	// testFunction is the name of a test or benchmark.
	testFunction = regexp.MustCompile(`^(Test|Benchmark)[A-Z]`)
	// testedRow is a test that bears the ID of a row, or of the first and the last of several. Other letters have other meanings.
	testedRow = regexp.MustCompile(`^Test(?:Gate|E2E|Soak)?([ABC])(\d{2,4})(?:To[ABC]?(\d{2,4}))?`)
	// testedCase is a case of a table that bears the ID of a row.
	testedCase = regexp.MustCompile(`^([ABC]\d{2,4}) `)
)

// AcceptanceTests returns the tests of rows A, B and C by row, with the folder before the name, and the folders of all tests by name.
func AcceptanceTests(files []*File) (byRow, folders map[string][]string) {
	byRow, folders = map[string][]string{}, map[string][]string{}
	for _, file := range files {
		if !file.IsTest() {
			continue
		}
		folder := path.Dir(file.Path)
		for _, declaration := range file.Syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Recv != nil || !testFunction.MatchString(function.Name.Name) {
				continue
			}
			name := function.Name.Name
			folders[name] = append(folders[name], folder)
			for _, row := range append(rowsOfName(name), rowsOfCases(function)...) {
				if at := folder + ":" + name; !slices.Contains(byRow[row], at) {
					byRow[row] = append(byRow[row], at)
				}
			}
		}
	}
	return byRow, folders
}

// rowsOfName returns the rows that the name of a test bears: one, or all from one to another.
func rowsOfName(name string) []string {
	found := testedRow.FindStringSubmatch(name)
	if found == nil {
		return nil
	}
	first, _ := strconv.Atoi(found[2])
	last := first
	if found[3] != "" {
		last, _ = strconv.Atoi(found[3])
	}
	var rows []string
	for number := first; number <= last; number++ {
		rows = append(rows, fmt.Sprintf("%s%0*d", found[1], len(found[2]), number))
	}
	return rows
}

// rowsOfCases returns the rows that cases of a table in a test bear.
func rowsOfCases(function *ast.FuncDecl) []string {
	var rows []string
	ast.Inspect(function, func(node ast.Node) bool {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if key, ok := pair.Key.(*ast.BasicLit); ok && key.Kind == token.STRING {
			text, _ := strconv.Unquote(key.Value)
			if found := testedCase.FindStringSubmatch(text); found != nil {
				rows = append(rows, found[1])
			}
		}
		return true
	})
	return rows
}

// AcceptanceGaps returns the rows that have neither test nor gap, the rows of tests that the matrix does not have, and the names of tests in the
// matrix that do not exist.
func AcceptanceGaps(chapters []Chapter, files []*File) (untested, unknown, missing []string) {
	byRow, folders := AcceptanceTests(files)
	for _, chapter := range chapters {
		for _, row := range chapter.Rows {
			if len(byRow[row.ID]) == 0 && len(row.Tests) == 0 && row.Gap == "" {
				untested = append(untested, row.ID)
			}
			delete(byRow, row.ID)
			for _, test := range row.Tests {
				if len(placesOf(test, folders)) == 0 {
					missing = append(missing, row.ID+": "+test)
				}
			}
		}
	}
	return untested, slices.Sorted(maps.Keys(byRow)), missing
}

// RenderAcceptance returns AcceptancePage with fresh tables.
func RenderAcceptance(module *Module, chapters []Chapter, files []*File) (string, error) {
	byRow, folders := AcceptanceTests(files)
	var text strings.Builder
	for _, chapter := range chapters {
		fmt.Fprintf(&text, "### %s\n\n| Row | What a user can do | Held by |\n|---|---|---|\n", chapter.Title)
		for _, row := range chapter.Rows {
			tests := slices.Clone(byRow[row.ID])
			for _, test := range row.Tests {
				tests = append(tests, placesOf(test, folders)...)
			}
			held := namesByFolder(tests)
			if row.Gap != "" {
				held = append(held, "**Gap**: "+row.Gap)
			}
			fmt.Fprintf(&text, "| %s | %s | %s |\n", row.ID, row.Scenario, strings.Join(held, "; "))
		}
		text.WriteString("\n")
	}
	content, err := os.ReadFile(module.Path(AcceptancePage))
	return replaceGenerated(AcceptancePage, string(content), strings.TrimSuffix(text.String(), "\n"), err)
}

// placesOf returns a test with each folder that has it; "folder:name" means that of one folder.
func placesOf(test string, folders map[string][]string) []string {
	folder, name, one := strings.Cut(test, ":")
	if !one {
		folder, name = "", test
	}
	var places []string
	for _, found := range folders[name] {
		if !one || found == folder {
			places = append(places, found+":"+name)
		}
	}
	return places
}

// namesByFolder returns a text for each folder with the names of its tests, and with what runs them where that is not make test.
func namesByFolder(tests []string) []string {
	names := map[string][]string{}
	for _, test := range tests {
		folder, name, _ := strings.Cut(test, ":")
		if tier := tierOf(folder, name); tier != "test" {
			folder += " (*" + tier + "*)"
		}
		if quoted := "`" + name + "`"; !slices.Contains(names[folder], quoted) {
			names[folder] = append(names[folder], quoted)
		}
	}
	var texts []string
	for _, folder := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[folder])
		texts = append(texts, folder+": "+strings.Join(names[folder], ", "))
	}
	return texts
}

// tierOf returns which of make test, make e2e and make soak runs a test, as the Makefile tells them apart.
func tierOf(folder, name string) string {
	switch {
	case strings.HasPrefix(name, "TestGate"):
		return "test"
	case strings.HasPrefix(folder, "tests/e2e/"), strings.HasPrefix(name, "TestE2E"):
		return "e2e"
	case strings.HasPrefix(folder, "tests/soak/"), strings.HasPrefix(name, "TestSoak"), strings.HasPrefix(name, "Benchmark"):
		return "soak"
	}
	return "test"
}
