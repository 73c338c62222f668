// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tableRow is a line of docs/dependencies.md that names a module.
var tableRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| \\S")

func TestEveryDependencyHasAReason(t *testing.T) {
	module := loaded(t)
	page, err := os.ReadFile(module.Path("docs/dependencies.md"))
	require.NoError(t, err)
	var explained []string
	for _, row := range tableRow.FindAllStringSubmatch(string(page), -1) {
		explained = append(explained, row[1])
	}
	assert.ElementsMatch(t, imported(t, module), explained, "docs/dependencies.md (second list) against the modules imported (first list)")
}

// imported returns the modules that packages of this module import, tests included.
func imported(t *testing.T, module *Module) []string {
	t.Helper()
	modules := required(t, module)
	found := map[string]bool{}
	for _, p := range module.Own() {
		if _, known := find(p.Room()); !known {
			continue
		}
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if owner := ownerOf(path, modules); owner != "" {
				found[owner] = true
			}
		}
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	return names
}

// required returns the modules that go.mod names.
func required(t *testing.T, module *Module) []string {
	t.Helper()
	answer, err := goCommand(module.Root, "mod", "edit", "-json")
	require.NoError(t, err)
	var edited struct{ Require []struct{ Path string } }
	require.NoError(t, json.Unmarshal(answer, &edited))
	var modules []string
	for _, requirement := range edited.Require {
		modules = append(modules, requirement.Path)
	}
	return modules
}

// ownerOf returns the longest module path around a package.
func ownerOf(path string, modules []string) string {
	owner := ""
	for _, candidate := range modules {
		if (path == candidate || strings.HasPrefix(path, candidate+"/")) && len(candidate) > len(owner) {
			owner = candidate
		}
	}
	return owner
}
