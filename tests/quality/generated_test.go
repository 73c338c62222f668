// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const cure = "run make generate and commit the result"

// controllerGen runs controller-gen at the root of the module.
func controllerGen(t *testing.T, args ...string) {
	t.Helper()
	module := loaded(t)
	_, err := goCommand(module.Root, append([]string{"tool", "-modfile=tests/platform/tools/generate/go.mod", "controller-gen"}, args...)...)
	require.NoError(t, err)
}

func TestGeneratedCRDs(t *testing.T) {
	const notifications = "paths=github.com/fluxcd/notification-controller/api/"
	for folder, paths := range map[string][]string{
		"config/crd/bases": {"paths=./api/..."}, "tests/e2e/notifications/testdata": {notifications + "v1", notifications + "v1beta3"},
	} {
		dir := t.TempDir()
		controllerGen(t, append([]string{"crd", "output:crd:dir=" + dir}, paths...)...)
		fresh, committed := contents(t, dir), contents(t, loaded(t).Path(folder))
		require.NotEmpty(t, fresh)
		assert.ElementsMatch(t, keys(fresh), keys(committed), cure)
		for name, content := range fresh {
			assert.True(t, content == committed[name], "%s/%s is stale: %s", folder, name, cure)
		}
	}
}

func TestGeneratedDeepCopies(t *testing.T) {
	checked := 0
	for _, file := range files(t) {
		folder, name := filepath.Split(file.Path)
		if name != "zz_generated.deepcopy.go" {
			continue
		}
		checked++
		dir := t.TempDir()
		controllerGen(t, "object:headerFile=tests/quality/header.go.txt", "paths=./"+folder, "output:object:dir="+dir)
		assert.True(t, contents(t, dir)[name] == file.Content, "%s is stale: %s", file.Path, cure)
	}
	assert.Positive(t, checked)
}

func TestEveryGeneratingPackageHasDeepCopies(t *testing.T) {
	for _, file := range files(t) {
		if file.Syntax.Doc != nil && strings.Contains(file.Content, "\n// +kubebuilder:object:generate=true\n") {
			assert.FileExists(t, loaded(t).Path(filepath.Dir(file.Path)+"/zz_generated.deepcopy.go"), cure)
		}
	}
}

func TestGeneratedFieldTables(t *testing.T) {
	module := loaded(t)
	pages, err := Pages()
	require.NoError(t, err)
	comments := NewComments(module)
	for _, page := range pages {
		fresh, err := page.Render(module, comments)
		require.NoError(t, err)
		committed, err := os.ReadFile(module.Path(page.Path))
		assert.NoError(t, err, cure)
		assert.True(t, fresh == string(committed), "%s is stale: %s", page.Path, cure)
	}
}

func TestGeneratedSchemas(t *testing.T) {
	module := loaded(t)
	fresh, err := Schemas(module, NewComments(module))
	require.NoError(t, err)
	committed := contents(t, module.Path(SchemasFolder))
	assert.ElementsMatch(t, keys(fresh), keys(committed), cure)
	for name, text := range fresh {
		assert.True(t, text == committed[name], "%s/%s is stale: %s", SchemasFolder, name, cure)
	}
}

func TestGeneratedPage(t *testing.T) {
	module, fresh := loaded(t), t.TempDir()
	_, err := goCommand(module.Path("tests/platform/tools/bundle"), "run", ".", module.Path("landscape/page/web"), fresh)
	require.NoError(t, err)
	bundled, committed := contents(t, fresh), contents(t, module.Path("landscape/page/assets"))
	assert.ElementsMatch(t, keys(bundled), keys(committed), cure)
	for name, text := range bundled {
		assert.True(t, text == committed[name], "landscape/page/assets/%s is stale: %s", name, cure)
	}
}

func TestEveryFieldHasAMeaning(t *testing.T) {
	pages, err := Pages()
	require.NoError(t, err)
	comments := NewComments(loaded(t))
	for _, page := range pages {
		fields, err := comments.Fields(page.Root, page.Prefix)
		require.NoError(t, err)
		require.NotEmpty(t, fields, page.Path)
		for _, field := range fields {
			assert.NotEmpty(t, strings.TrimPrefix(field.Text, "Required."), "%s: %s has no comment", page.Title, field.Path)
		}
	}
}

func TestGeneratedFlags(t *testing.T) {
	flags, err := Flags(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, flags)
	fresh, err := RenderFlags(loaded(t), flags)
	require.NoError(t, err)
	requireCommitted(t, FlagsPage, fresh)
}

func TestGeneratedCommandLine(t *testing.T) {
	commands, err := Commands(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, commands)
	fresh, err := RenderCLI(loaded(t), commands)
	require.NoError(t, err)
	requireCommitted(t, CLIPage, fresh)
}

// requireCommitted checks that a page is what is generated now.
func requireCommitted(t *testing.T, page, fresh string) {
	t.Helper()
	committed, err := os.ReadFile(loaded(t).Path(page))
	require.NoError(t, err)
	assert.True(t, fresh == string(committed), "%s is stale: %s", page, cure)
}

// contents returns the files of a folder by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	found := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		found[entry.Name()] = string(content)
	}
	return found
}

func keys(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	return names
}
