// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
)

// placeholders are documents of the corpus that are no blueprints, or broken on purpose.
var placeholders = []string{"30-Example-Installation.yaml", "00-installations/external-dns-management.yaml", "00-installations/nginx-ingress.yaml",
	"immediate-error/installation/installation.yaml.tpl"}

func isPlaceholder(at string) bool {
	return slices.ContainsFunc(placeholders, func(suffix string) bool { return strings.HasSuffix(filepath.ToSlash(at), suffix) })
}

// TestCorpus renders all blueprints of the corpus of Gardener Landscaper, those in files and those in place, with made-up imports and
// a made-up component descriptor.
func TestCorpus(t *testing.T) {
	root := os.Getenv("FLUX_LANDSCAPER_CORPUS")
	if root == "" {
		root = "../../../shared/corpus"
	}
	found := 0
	err := filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || isPlaceholder(at) {
			return err
		}
		if files := blueprintOf(t, at); files != nil {
			found++
			t.Run(strings.TrimPrefix(at, root), func(t *testing.T) { renderCorpus(t, files) })
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Skipf("CORPUS NOT FOUND at %s: no blueprint of Gardener Landscaper was rendered; set FLUX_LANDSCAPER_CORPUS", root)
	}
	t.Logf("%d blueprints rendered", found)
}

// blueprintOf returns the blueprint at the path: the directory of a blueprint.yaml, or the one in place of an Installation.
func blueprintOf(t *testing.T, at string) fs.FS {
	if filepath.Base(at) == model.FileName {
		return os.DirFS(filepath.Dir(at))
	}
	text, err := os.ReadFile(at)
	require.NoError(t, err)
	var installation v1alpha1.Installation
	if yaml.Unmarshal(text, &installation) != nil || installation.Kind != "Installation" || installation.Spec.Blueprint.Inline == nil {
		return nil
	}
	files, err := model.Inline(installation.Spec.Blueprint.Inline.Filesystem.RawMessage)
	require.NoError(t, err)
	return files
}

func renderCorpus(t *testing.T, files fs.FS) {
	b, err := model.Load(files)
	require.NoError(t, err)
	env := &Environment{Blueprint: b, Files: files, Namespace: "ns", Schemas: schema.New(schema.Options{LocalTypes: b.LocalTypes, Blueprint: files}),
		ComponentDescriptor: madeUpComponent(), Components: map[string]any{"components": []any{madeUpComponent()}}}
	values, err := Satisfy(context.Background(), env, madeUpImports(b), nil)
	if err != nil && strings.Contains(err.Error(), "cd://") {
		t.Skip("needs a schema of a component")
	}
	require.NoError(t, err)
	assertRendered(t, ImportExecutions(context.Background(), env, values))
	_, _, err = Subinstallations(context.Background(), env, values, nil)
	assertRendered(t, err)
	_, _, err = DeployItems(context.Background(), env, values, nil)
	assertRendered(t, err)
}

// assertRendered accepts errors that come from the made-up data, not from the blueprint.
func assertRendered(t *testing.T, err error) {
	t.Helper()
	for _, madeUp := range []string{"no resource of component", "is not in the blueprint", `template type "go-template" is unknown`} {
		if err != nil && strings.Contains(err.Error(), madeUp) {
			t.Logf("accepted: %s", strings.SplitN(err.Error(), "\n", 2)[0])
			return
		}
	}
	assert.NoError(t, err)
}

func madeUpComponent() map[string]any {
	var resources []any
	for _, name := range []string{"echo-server-chart", "echo-server-image", "podinfo-gitrepo", "landscaper-gitrepo", "flux-chart", "blueprint"} {
		resources = append(resources, map[string]any{"name": name, "version": "1.0.0", "type": "x",
			"access": map[string]any{"imageReference": "host/repo/name:1", "repoUrl": "https://host/repo", "ref": "refs/tags/v1", "commit": "abc"}})
	}
	return map[string]any{"meta": map[string]any{"schemaVersion": "v2"}, "component": map[string]any{"name": "example.com/a", "version": "1", "resources": resources}}
}

func madeUpImports(b *model.Blueprint) *Imports {
	out := NewImports()
	for _, d := range Flatten(b.Imports) {
		made := target(d.Name, d.TargetType)
		made.Object.(map[string]any)["spec"].(map[string]any)["config"] = map[string]any{"kubeconfig": "x"}
		switch d.Type {
		case model.TypeTarget:
			out.Targets[d.Name] = made
		case model.TypeTargetList:
			out.TargetLists[d.Name] = []Target{made}
		case model.TypeTargetMap:
			out.TargetMaps[d.Name] = map[string]Target{"blue": made}
		case model.TypeData:
			var parsed map[string]any
			_ = json.Unmarshal(d.Schema.RawMessage, &parsed)
			if value := sample(parsed); value != nil {
				out.Data[d.Name] = value
			}
		}
	}
	return &out
}

func sample(schema map[string]any) any {
	switch schema["type"] {
	case "integer", "number":
		return int64(2)
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		out := map[string]any{"blue": map[string]any{"a": "b"}}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			if nested, _ := property.(map[string]any); nested["$ref"] == nil {
				out[name] = sample(nested)
			}
		}
		return out
	}
	return "text"
}
