// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// golden compares a text with a file of testdata; FLUX_LANDSCAPER_GOLDEN=write writes it.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("FLUX_LANDSCAPER_GOLDEN") == "write" {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
}

// TestLintPrints has a landscape with mistakes in all forms of output.
func TestLintPrints(t *testing.T) {
	p := start(t)
	require.NoError(t, os.CopyFS(p.home, os.DirFS(filepath.Join("testdata", "lint"))))
	for _, output := range []string{"text", "json", "sarif", "github"} {
		t.Run(output, func(t *testing.T) {
			stdout, stderr, status := p.run("lint", "-f", "installations", "-f", "blueprints", "-o", output)
			assert.Equal(t, 1, status, stderr)
			golden(t, "lint."+output+".golden", stdout)
			if output == "json" || output == "sarif" {
				assert.True(t, json.Valid([]byte(stdout)))
			} else {
				assert.Equal(t, "✗ objects: 2, blueprints: 1, errors: 3, warnings: 1\n", stderr)
			}
		})
	}
}

func TestLintStatus(t *testing.T) {
	p := start(t)
	p.write("good/a.yaml", "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DataObject\nmetadata: {name: a}\ndata: 1\n")
	p.write("dangling/a.yaml", "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\nmetadata: {name: a}\n"+
		"spec: {imports: {data: [{name: a, dataRef: b}]}, blueprint: {ref: {resourceName: a}}}\n")
	for name, test := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"good":              {[]string{"-f", "good"}, 0, "✔ objects: 1, blueprints: 0, errors: 0, warnings: 0"},
		"file":              {[]string{"-f", "good/a.yaml", "--strict"}, 0, "✔ objects: 1"},
		"warning":           {[]string{"-f", "dangling"}, 0, "⚠ objects: 1, blueprints: 0, errors: 0, warnings: 1"},
		"warning of strict": {[]string{"-f", "dangling", "--strict"}, 1, "✗ objects: 1, blueprints: 0, errors: 1, warnings: 0"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := p.run(append([]string{"lint"}, test.args...)...)
			assert.Equal(t, test.status, status)
			assert.Contains(t, stdout+stderr, test.says)
		})
	}
	for _, args := range [][]string{{"-f", "none"}, {"-f", "good", "-o", "xml"}, {}, {"-f", "good", "more"}} {
		stdout, _, status := p.run(append([]string{"lint"}, args...)...)
		assert.NotZero(t, status, args)
		assert.Empty(t, stdout)
	}
}

func TestSchemaExport(t *testing.T) {
	p := start(t)
	stdout, stderr, status := p.run("schema", "export", "of/editor")
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "of/editor/blueprint.json\n")
	assert.Contains(t, stderr, "begin a file with # yaml-language-server: $schema=of/editor/blueprint.json")
	for _, name := range []string{"blueprint", "installationtemplate", "installation", "target", "helm-v1alpha1", "manifest-v1alpha1", "manifest-v1alpha2", "container-v1alpha1", "mock-v1alpha1"} {
		text, err := os.ReadFile(filepath.Join(p.home, "of", "editor", name+".json"))
		require.NoError(t, err)
		assert.True(t, json.Valid(text), name)
	}
	_, _, status = p.run("schema", "export", "of/editor/blueprint.json/x")
	assert.NotZero(t, status)
}
