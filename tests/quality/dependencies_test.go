// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"encoding/json"
	"maps"
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
	return slices.Collect(maps.Keys(versions(t, module.Root)))
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

// TestServersShareVersions keeps the module that the servers of tests are built from at the versions of this one: each package of a module with two
// versions is compiled twice.
func TestServersShareVersions(t *testing.T) {
	module := loaded(t)
	own := versions(t, module.Root)
	for path, version := range versions(t, module.Path("tests/platform/tools/servers")) {
		if ownVersion, is := own[path]; is {
			assert.Equal(t, ownVersion, version, "version of %s in tests/platform/tools/servers/go.mod, and in go.mod", path)
		}
	}
}

// versions returns what the go.mod in a folder requires, directly or not.
func versions(t *testing.T, folder string) map[string]string {
	t.Helper()
	answer, err := goCommand(folder, "mod", "edit", "-json")
	require.NoError(t, err)
	var edited struct {
		Require []struct{ Path, Version string }
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	require.NoError(t, json.Unmarshal(answer, &edited))
	found := map[string]string{}
	for _, requirement := range edited.Require {
		found[requirement.Path] = requirement.Version
	}
	for _, replacement := range edited.Replace {
		found[replacement.Old.Path] = replacement.New.Version
	}
	return found
}
