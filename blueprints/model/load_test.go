// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const head = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"

func load(text string) (*Blueprint, error) {
	return Load(fstest.MapFS{FileName: {Data: []byte(text)}})
}

func TestLoadAppliesDefaults(t *testing.T) {
	b, err := load(head + `
imports:
- {name: a, schema: {type: string}}
- {name: b, targetType: kubernetes-cluster}
- {name: c, type: targetList, targetType: kubernetes-cluster}
- {name: d, type: targetMap, targetType: kubernetes-cluster}
- name: e
  required: false
  schema: {}
  imports: [{name: f, targetType: example.com/own}]
exports:
- {name: g, targetType: kubernetes-cluster}
- {name: h, schema: {type: integer}}
`)
	require.NoError(t, err)
	assert.Equal(t, DefaultJSONSchemaVersion, b.JSONSchemaVersion)
	assert.Equal(t, TypeData, b.Imports[0].Type)
	assert.True(t, b.Imports[0].IsRequired())
	assert.Equal(t, TypeTarget, b.Imports[1].Type)
	for i := 1; i < 4; i++ {
		assert.Equal(t, "landscaper.gardener.cloud/kubernetes-cluster", b.Imports[i].TargetType)
	}
	assert.False(t, b.Imports[4].IsRequired())
	assert.Equal(t, TypeTarget, b.Imports[4].ConditionalImports[0].Type)
	assert.Equal(t, "example.com/own", b.Imports[4].ConditionalImports[0].TargetType)
	assert.Equal(t, "landscaper.gardener.cloud/kubernetes-cluster", b.Exports[0].TargetType)
	assert.Equal(t, TypeData, b.Exports[1].Type)
}

func TestLoadReadsAllFields(t *testing.T) {
	b, err := load(head + `
unknown: ignored
annotations: {ocmSchemaVersion: v2}
localTypes: {mine: {type: object}}
importExecutions: [{name: check, type: GoTemplate, file: /imp.yaml}]
subinstallations:
- file: /sub.yaml
- name: b
  blueprint: {ref: cd://resources/x}
  imports: {data: [{name: p, dataRef: q}]}
  importDataMappings: {r: (( p ))}
subinstallationExecutions: [{name: s, type: GoTemplate, template: "subinstallations: []"}]
deployExecutions: [{name: d, type: Spiff, template: {deployItems: []}}]
`)
	require.NoError(t, err)
	assert.Equal(t, "v2", b.Annotations[SchemaVersionAnnotation])
	assert.JSONEq(t, `{"type":"object"}`, string(b.LocalTypes["mine"].RawMessage))
	assert.Equal(t, "/imp.yaml", b.ImportExecutions[0].File)
	assert.Equal(t, "/sub.yaml", b.Subinstallations[0].File)
	assert.Equal(t, "b", b.Subinstallations[1].Name)
	assert.Equal(t, "cd://resources/x", b.Subinstallations[1].Blueprint.Ref)
	assert.Equal(t, "q", b.Subinstallations[1].Imports.Data[0].DataRef)
	assert.JSONEq(t, `{"deployItems":[]}`, string(b.DeployExecutions[0].Template.RawMessage))
}

func TestLoadNamesFieldAndCure(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no YAML", head + "a: b: c", "blueprint.yaml is not YAML: yaml: line 3"},
		{"aliases of aliases", head + "imports: &a [*a]", "blueprint.yaml has more than 16777216 bytes, counting those behind aliases; write out less"},
		{"wrong type", head + "imports:\n- name: a\n  schema: {}\n- name: [1]\n", "line 6: field imports[1].name is a value of type array; it must be of type string"},
		{"wrong list", head + "exports:\n  a: b\n", "line 4: field exports is a value of type object; it must be of type array"},
		{"no kind", "apiVersion: landscaper.gardener.cloud/v1alpha1", "kind: Blueprint"},
		{"wrong version", "apiVersion: v1\nkind: Blueprint", "apiVersion: landscaper.gardener.cloud/v1alpha1"},
		{"duplicate import", head + "imports: [{name: a, schema: {}}, {name: b, required: false, schema: {}, imports: [{name: a, schema: {type: string}}]}]",
			`imports[1].imports[0].name: there is another import named "a"`},
		{"no name", head + "imports: [{schema: {}}]", "imports[0].name: the import has no name"},
		{"unknown type", head + "imports: [{name: a, type: foo}]", `imports[0].type: type "foo" is unknown`},
		{"historic type", head + "imports: [{name: a, type: componentDescriptor}]", "were removed in 2022"},
		{"historic list type", head + "imports: [{name: a, type: componentDescriptorList}]", "were removed in 2022"},
		{"unclear", head + "imports: [{name: a}]", "set exactly one of schema and targetType"},
		{"both", head + "imports: [{name: a, schema: {}, targetType: x}]", "set exactly one of schema and targetType"},
		{"data without schema", head + "imports: [{name: a, type: data}]", "imports[0].schema: data needs a JSON schema"},
		{"data with target type", head + "imports: [{name: a, type: data, schema: {}, targetType: x}]", "imports[0].targetType: data has no target type"},
		{"target without type", head + "imports: [{name: a, type: targetMap}]", "imports[0].targetType: type targetMap needs a targetType"},
		{"target with schema", head + "imports: [{name: a, type: target, targetType: x, schema: {}}]", "imports[0].schema: type target has no schema"},
		{"conditional on required", head + "imports: [{name: a, schema: {}, imports: [{name: b, schema: {}}]}]", "imports[0].imports: conditional imports need an optional import"},
		{"export type", head + "exports: [{name: a, type: targetList, targetType: x}]", `exports[0].type: type "targetList" is unknown; use data or target`},
		{"import of another schema", head + "imports: [{name: a, schema: {type: string}}, {name: a, schema: {type: integer}}]", `imports[1].name: there is another import named "a"`},
		{"import of another need", head + "imports: [{name: a, schema: {}}, {name: a, schema: {}, required: false}]", `imports[1].name: there is another import named "a"`},
		{"duplicate export", head + "exports: [{name: a, schema: {}}, {name: a, targetType: x}]", `exports[1].name: there is another export named "a"`},
		{"executor without type", head + "deployExecutions: [{name: a, file: x}]", "deployExecutions[0].type: the template language is missing"},
		{"executor without template", head + "exportExecutions: [{name: a, type: Spiff}]", "exportExecutions[0]: no template found"},
		{"duplicate executor", head + "deployExecutions: [{name: a, type: Spiff, file: x}, {name: a, type: Spiff, file: x}]", `deployExecutions[1].name: there is another executor named "a"`},
		{"empty subinstallation", head + "subinstallations: [{}]", "subinstallations[0]: neither a file nor a template"},
		{"two subinstallations", head + "subinstallations: [{file: a, name: b}]", "subinstallations[0]: both a file and a template"},
		{"too large", head + strings.Repeat("#", 1<<20), "larger than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(tt.text)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestEqualDeclarationsOfOneNameAreAccepted(t *testing.T) {
	_, err := load(head + `
imports:
- {name: a, schema: {type: object, properties: {}}}
- {name: b, required: false, schema: {}, imports: [{name: a, type: data, schema: {properties: {}, type: object}, required: true}]}
- {name: b, required: false, schema: {}, imports: [{name: a, schema: {type: object, properties: {}}}]}
exports:
- {name: a, targetType: x}
- {name: a, targetType: x}
`)
	require.NoError(t, err)
}

func TestLoadWithoutDocumentListsWhatIsThere(t *testing.T) {
	_, err := Load(fstest.MapFS{"blueprint.yml": {}, "dir/x": {}})
	require.ErrorContains(t, err, "no blueprint.yaml at its root; it has: blueprint.yml, dir")
	_, err = Load(fstest.MapFS{})
	assert.ErrorContains(t, err, "it is empty")
}

// TestCorpus loads all blueprints of the corpus of Gardener Landscaper.
func TestCorpus(t *testing.T) {
	root := os.Getenv("FLUX_LANDSCAPER_CORPUS")
	if root == "" {
		root = "../../../shared/corpus"
	}
	found := 0
	err := filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != FileName {
			return err
		}
		found++
		t.Run(at, func(t *testing.T) {
			_, err := Load(os.DirFS(filepath.Dir(at)))
			assert.NoError(t, err)
		})
		return nil
	})
	if err != nil || found == 0 {
		t.Skipf("CORPUS NOT FOUND at %s: no blueprint of Gardener Landscaper was read; set FLUX_LANDSCAPER_CORPUS", root)
	}
	t.Logf("%d blueprints read", found)
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte(head + "imports: [{name: a, schema: {}, required: false, default: {value: 1}, imports: [{name: b, targetType: x}]}]"))
	f.Add([]byte(head + "exports:\n- name: [a]\n"))
	f.Add([]byte(head + "subinstallations: [{file: a}, {name: b, blueprint: {ref: cd://resources/x}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Parse(text)
		if err == nil && (b == nil || len(Validate(b)) > 0) {
			t.Fatal("a blueprint with problems was accepted")
		}
	})
}
