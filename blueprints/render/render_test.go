// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
)

const cluster = "landscaper.gardener.cloud/kubernetes-cluster"

// environment reads a blueprint without its head, and files by name and content.
func environment(t *testing.T, text string, files ...string) *Environment {
	t.Helper()
	fsys := fstest.MapFS{model.FileName: {Data: []byte("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n" + text)}}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	b, err := model.Load(fsys)
	require.NoError(t, err)
	return &Environment{Blueprint: b, Files: fsys, Namespace: "ns", Schemas: schema.New(schema.Options{LocalTypes: b.LocalTypes, Blueprint: fsys})}
}

func target(name, kind string) Target {
	return Target{Name: name, Object: map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"type": kind}}}
}

func given() *Imports {
	return &Imports{
		Data:        map[string]any{"port": int64(80), "name": "shop", "extra": "legal", "none": nil},
		Empty:       map[string]string{"none": `spec.imports.data[3] (import "none"): ConfigMap ns/c: key "k"`},
		Targets:     map[string]Target{"cluster": target("original", cluster), "other": target("odd", "example.com/x")},
		TargetLists: map[string][]Target{"list": {target("l0", cluster), target("l1", cluster)}},
		TargetMaps:  map[string]map[string]Target{"map": {"blue": target("mb", cluster)}},
	}
}

func mappings(t *testing.T, text string) map[string]v1alpha1.AnyJSON {
	t.Helper()
	var out map[string]v1alpha1.AnyJSON
	require.NoError(t, yaml.Unmarshal([]byte(text), &out))
	return out
}

func TestSatisfy(t *testing.T) {
	tests := []struct {
		name, imports, mappings string
		want                    map[string]any
	}{
		{"data", `[{name: port, schema: {type: integer}}]`, ``, map[string]any{"port": int64(80)}},
		{"optional without value", `[{name: x, required: false, schema: {}}]`, ``, map[string]any{}},
		{"default", `[{name: x, required: false, default: {value: {a: 1}}, schema: {}}]`, ``, map[string]any{"x": map[string]any{"a": int64(1)}}},
		{"default is not needed", `[{name: port, required: false, default: {value: 1}, schema: {}}]`, ``, map[string]any{"port": int64(80)}},
		{"mapping", `[{name: url, schema: {type: string}}]`, `url: (( name ":" port ))`, map[string]any{"url": "shop:80"}},
		{"mapping wins", `[{name: port, schema: {}}]`, `port: (( port + 1 ))`, map[string]any{"port": int64(81)}},
		{"mapping sees targets", `[{name: x, schema: {}}]`, `x: (( cluster.metadata.name map.blue.spec.type ))`, map[string]any{"x": "original" + cluster}},
		{"conditional with value", `[{name: port, required: false, schema: {}, imports: [{name: name, schema: {}}]}]`, ``, map[string]any{"port": int64(80), "name": "shop"}},
		{"conditional without value", `[{name: x, required: false, schema: {}, imports: [{name: missing, schema: {}}]}]`, ``, map[string]any{}},
		{"null is no value", `[{name: none, required: false, default: {value: x}, schema: {type: string}}, {name: other, required: false, schema: {}}]`, `other: (( ~ ))`, map[string]any{"none": "x"}},
		{"conditional after default", `[{name: x, required: false, default: {value: 1}, schema: {}, imports: [{name: name, schema: {}}]}]`, ``, map[string]any{"x": int64(1), "name": "shop"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			values, err := Satisfy(context.Background(), environment(t, "imports: "+tt.imports), given(), mappings(t, tt.mappings))
			require.NoError(t, err)
			assert.Equal(t, tt.want, values.Data)
		})
	}
}

func TestSatisfyTargets(t *testing.T) {
	env := environment(t, `
imports:
- {name: cluster, targetType: kubernetes-cluster}
- {name: list, type: targetList, targetType: kubernetes-cluster}
- {name: map, type: targetMap, targetType: kubernetes-cluster}
- {name: missing, required: false, targetType: kubernetes-cluster}
`)
	values, err := Satisfy(context.Background(), env, given(), nil)
	require.NoError(t, err)
	assert.Equal(t, given().Targets["cluster"], values.Targets["cluster"])
	assert.NotContains(t, values.Targets, "missing")
	assert.Equal(t, given().TargetLists, values.TargetLists)
	assert.Equal(t, given().TargetMaps, values.TargetMaps)
	assert.Equal(t, map[string]any{"blue": given().TargetMaps["map"]["blue"].Object}, values.Template()["map"])
}

func TestSatisfyRefuses(t *testing.T) {
	tests := []struct{ name, imports, mappings, reason, want string }{
		{"missing", `[{name: x, schema: {}}]`, ``, ReasonImportNotFound, `needs import "x" of type data; add it`},
		{"null", `[{name: none, schema: {type: [string, "null"]}}]`, ``, ReasonImportNotFound,
			`spec.imports.data[3] (import "none"): ConfigMap ns/c: key "k" has no value, and the blueprint needs import "none"; give it one, or make the import optional`},
		{"mapping that gives null", `[{name: x, schema: {}}]`, `x: (( none ))`, ReasonImportNotFound, `importDataMappings.x has no value`},
		{"default on required", `[{name: x, default: {value: 1}, schema: {}}]`, ``, ReasonImportNotFound, "counts only with required: false"},
		{"missing target", `[{name: x, targetType: a}]`, ``, ReasonImportNotFound, `needs import "x" of type target`},
		{"wrong kind", `[{name: cluster, schema: {}}]`, ``, ReasonImportNotFound, "gives it as type target"},
		{"conditional", `[{name: port, required: false, schema: {}, imports: [{name: x, schema: {}}]}]`, ``, ReasonImportNotFound, `import "x"`},
		{"schema", `[{name: name, schema: {type: integer}}]`, ``, ReasonSchemaValidationFailed, `import "name": the value does not match its schema`},
		{"schema of default", `[{name: x, required: false, default: {value: a}, schema: {type: integer}}]`, ``, ReasonSchemaValidationFailed, `import "x"`},
		{"schema of mapping", `[{name: x, schema: {type: integer}}]`, `x: (( name ))`, ReasonSchemaValidationFailed, `import "x"`},
		{"bad schema", `[{name: name, schema: {$ref: "local://nope"}}]`, ``, ReasonImportNotSatisfied, "no such entry in localTypes"},
		{"target type", `[{name: other, targetType: kubernetes-cluster}]`, ``, ReasonImportNotSatisfied, `Target "odd" is of type "example.com/x"`},
		{"list type", `[{name: list, type: targetList, targetType: x/y}]`, ``, ReasonImportNotSatisfied, `import "list[0]" needs a Target of type "x/y"`},
		{"map type", `[{name: map, type: targetMap, targetType: x/y}]`, ``, ReasonImportNotSatisfied, `import "map[blue]"`},
		{"mapping", `[]`, `x: (( nope ))`, ReasonImportNotSatisfied, "importDataMappings.x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Satisfy(context.Background(), environment(t, "imports: "+tt.imports), given(), mappings(t, tt.mappings))
			var failed *Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, tt.reason, failed.Reason)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func values(t *testing.T) *Values {
	t.Helper()
	return &Values{Imports: *given(), Bindings: map[string]any{}}
}

func TestImportExecutions(t *testing.T) {
	env := environment(t, `
imports: [{name: port, schema: {}}, {name: opt, required: false, schema: {}}]
importExecutions:
- {name: one, type: GoTemplate, template: "bindings: {sum: {{ add .imports.port 1 }}, port: 81}"}
- {name: two, type: Spiff, template: {bindings: {opt: (( imports.sum + imports.port ))}}}
- {name: three, type: GoTemplate, template: "a: {{ .imports.missing }}"}
`)
	v := values(t)
	require.NoError(t, ImportExecutions(context.Background(), env, v))
	assert.Equal(t, map[string]any{"sum": int64(81), "port": int64(81), "opt": int64(162)}, v.Bindings)
	assert.Equal(t, int64(81), v.Template()["port"])
	assert.Equal(t, map[string]any{"port": int64(81), "opt": int64(162), "name": "shop", "extra": "legal"}, v.DataImports(env.Blueprint))
}

func TestImportExecutionsStopAtErrors(t *testing.T) {
	env := environment(t, `
importExecutions:
- {name: one, type: GoTemplate, template: "errors: [too small, too late]"}
- {name: two, type: GoTemplate, template: '{{ fail "not reached" }}'}
`)
	err := ImportExecutions(context.Background(), env, values(t))
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, ReasonImportValidationFailed, failed.Reason)
	assert.ErrorContains(t, err, "importExecutions[0] (one): import validation failed: too small, too late")
}

func TestDeployItems(t *testing.T) {
	env := environment(t, `
deployExecutions:
- name: one
  type: GoTemplate
  file: /deploy.yaml
- name: two
  type: Spiff
  template:
    DeployItems:
    - {name: spiff, type: t, target: {import: cluster}, config: {a: '(( sum[[1,2]|0|s,v|->s + v] ))'}, dependsOn: [byName]}
`, "deploy.yaml", `
deployitems:
- name: byName
  type: landscaper.gardener.cloud/helm
  target: {name: given, namespace: ignored}
  labels: {a: b}
  timeout: 5m
  updateOnChangeOnly: true
  onDelete: {skipUninstallIfClusterRemoved: true}
  config: {apiVersion: v1, kind: X, port: {{ .imports.port }}, big: 1234567890123456789}
- {name: byImport, type: t, target: {import: cluster}, config: {}}
- {name: byIndex, type: t, target: {import: list, index: 1}, config: {}}
- {name: byKey, type: t, target: {import: map, key: blue}, config: {}, dependsOn: [byIndex, byImport]}
- {name: without, type: t, config: {}}
`)
	items, state, err := DeployItems(context.Background(), env, values(t), nil)
	require.NoError(t, err)
	assert.Empty(t, state)
	names := map[string]string{}
	for _, item := range items {
		names[item.Name] = ""
		if item.Target != nil {
			names[item.Name] = item.Target.Namespace + "/" + item.Target.Name
		}
	}
	assert.Equal(t, map[string]string{"byName": "ns/given", "byImport": "ns/original", "byIndex": "ns/l1", "byKey": "ns/mb", "without": "", "spiff": "ns/original"}, names)
	text, err := json.Marshal(items[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"name":"byName","type":"landscaper.gardener.cloud/helm","target":{"name":"given","namespace":"ns"},"labels":{"a":"b"},"timeout":"5m0s",
		"updateOnChangeOnly":true,"onDelete":{"skipUninstallIfClusterRemoved":true},"config":{"apiVersion":"v1","kind":"X","port":80,"big":1234567890123456789}}`, string(text))
}

func TestDeployItemsAreDeterministic(t *testing.T) {
	env := environment(t, `
deployExecutions:
- {name: one, type: GoTemplate, template: "deployItems: [{name: a, type: t, config: {{ toJson .imports }}}]"}
- {name: two, type: Spiff, template: {deployItems: [{name: b, type: t, config: (( imports ))}]}}
`)
	var first []byte
	for range 20 {
		items, _, err := DeployItems(context.Background(), env, values(t), nil)
		require.NoError(t, err)
		text, err := json.Marshal(items)
		require.NoError(t, err)
		if first == nil {
			first = text
		}
		require.Equal(t, string(first), string(text))
	}
}

func TestDeployItemsRefuse(t *testing.T) {
	tests := []struct{ name, items, want string }{
		{"list", `[{name: a, type: t, target: {import: nope, index: 0}}]`, `targetlist import "nope" not found`},
		{"index", `[{name: a, type: t, target: {import: list, index: 2}}]`, `index 2 out of bounds`},
		{"negative index", `[{name: a, type: t, target: {import: list, index: -1}}]`, `index -1 out of bounds`},
		{"map", `[{name: a, type: t, target: {import: nope, key: x}}]`, `targetmap import "nope" not found`},
		{"key", `[{name: a, type: t, target: {import: map, key: x}}]`, `key "x" not found in targetmap import "map"`},
		{"import", `[{name: a, type: t, target: {import: nope}}]`, `target import "nope" not found`},
		{"list without index", `[{name: a, type: t, target: {import: list}}]`, `target import "list" not found`},
		{"empty", `[{name: a, type: t, target: {}}]`, `empty target reference`},
		{"no name", `[{type: t}]`, `deployItems[0] has no name`},
		{"no type", `[{name: a}]`, `deploy item "a" has no type`},
		{"twice", `[{name: a, type: t}, {name: a, type: t}]`, `another deploy item named "a"`},
		{"unknown dependency", `[{name: a, type: t, dependsOn: [b]}]`, `depends on "b", which does not exist`},
		{"cycle", `[{name: a, type: t, dependsOn: [b]}, {name: b, type: t, dependsOn: [a]}]`, `cycle found in dependencies: a → b → a`},
		{"itself", `[{name: a, type: t, dependsOn: [a]}]`, `cycle found in dependencies: a → a`},
		{"wrong type", `[{name: 5, type: t}]`, "deploy item (deployItems[0]): name: is a JSON number, which the field cannot hold"},
		{"wrong type of an item", `[{name: a}, {name: b, dependsOn: c}]`,
			`deploy item "b" (deployItems[1]): dependsOn: is a JSON string, which the field cannot hold`},
		{"no config", `[{name: a, type: t}]`, `deploy item "a" has no config; give it one, for type t`},
		{"text as config", `[{name: a, type: t, config: "manifests: []"}]`, `deploy item "a": config is no object of keys and values; write one, for type t`},
		{"key twice", "[{name: a, type: t, config: {a: b, a: c}}]", "the output has a key twice in one object, again in line 1; remove one of them"},
		{"second document", "[]\n---\ndeployItems: [{name: a, type: t, config: {}}]", "the output has a second document, from line 3 on, which nobody reads; write one document"},
		{"no list", `{}`, "deployItems: is a JSON object, which the field cannot hold; correct the type of the value"},
		{"list as item", `[[]]`, "deploy item (deployItems[0]): the document: is a JSON array, which the field cannot hold"},
		{"null as config", `[{name: a, type: t, config: null}]`, `deploy item "a" has no config`},
		{"long name", `[{name: {{ repeat 64 "i" }}, type: t, config: {}}]`, "its name is not a valid label value: must be no more than 63 "},
		{"misspelt type", `[{name: a, type: landscaper.gardener.cloud/hellm, config: {}}]`,
			`deploy item "a": type "landscaper.gardener.cloud/hellm" is unknown; did you mean landscaper.gardener.cloud/helm?`},
		{"key of the configuration", `[{name: a, type: t, values: {b: c}, config: {}}]`, "values: the key is unknown; did you mean deployItems[0].config.values?"},
		{"no value", `[{name: "{{ .imports.missing }}", type: t}]`, "<no value>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := environment(t, "deployExecutions: [{name: x, type: GoTemplate, file: d}]", "d", "deployItems: "+tt.items)
			_, _, err := DeployItems(context.Background(), env, values(t), nil)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestExecutorsRefuse(t *testing.T) {
	for name, tt := range map[string][2]string{
		"language":     {`{name: x, type: Jinja, template: a}`, `deployExecutions[0] (x): template type "Jinja" is unknown`},
		"missing file": {`{name: x, type: GoTemplate, file: /nope}`, `file "/nope" is not in the blueprint; its directory has: blueprint.yaml`},
		"structure":    {`{name: x, type: GoTemplate, template: {a: b}}`, `must be a text`},
		"no output":    {`{type: GoTemplate, template: text}`, `deployExecutions[0] (unnamed): `},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := DeployItems(context.Background(), environment(t, "deployExecutions: ["+tt[0]+"]"), values(t), nil)
			require.ErrorContains(t, err, tt[1])
		})
	}
}

func TestTemplateInPlaceWins(t *testing.T) {
	env := environment(t, `deployExecutions: [{name: x, type: GoTemplate, file: /nope, template: "deployItems: []"}]`)
	items, _, err := DeployItems(context.Background(), env, values(t), nil)
	require.NoError(t, err)
	assert.Empty(t, items)
}

func TestStateIsKeptByExecutor(t *testing.T) {
	env := environment(t, `
deployExecutions:
- {name: go, type: GoTemplate, template: "deployItems: []\nstate: {count: {{ add (.state.count | default 0) 1 }}}"}
- {name: spiff, type: Spiff, template: {deployItems: [], word: '(( &state(rand("[:alnum:]", 8)) ))'}}
- {name: none, type: GoTemplate, template: "deployItems: []"}
`)
	_, first, err := DeployItems(context.Background(), env, values(t), nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{"count":1}`, string(first["go"]))
	assert.Len(t, first, 2)
	_, second, err := DeployItems(context.Background(), env, values(t), first)
	require.NoError(t, err)
	assert.JSONEq(t, `{"count":2}`, string(second["go"]))
	assert.Equal(t, string(first["spiff"]), string(second["spiff"]))
}

func TestStateSurvivesALaterError(t *testing.T) {
	env := environment(t, `
deployExecutions:
- {name: good, type: GoTemplate, template: "state: {a: 1}"}
- {name: bad, type: GoTemplate, template: "{{ fail \"no\" }}"}
`)
	_, state, err := DeployItems(context.Background(), env, values(t), nil)
	require.Error(t, err)
	assert.JSONEq(t, `{"a":1}`, string(state["good"]))
}

func TestSubinstallations(t *testing.T) {
	env := environment(t, `
imports:
- {name: port, schema: {}}
- {name: opt, required: false, schema: {}, imports: [{name: deep, schema: {}}]}
- {name: cluster, targetType: kubernetes-cluster}
- {name: list, type: targetList, targetType: kubernetes-cluster}
- {name: map, type: targetMap, targetType: kubernetes-cluster}
subinstallations:
- file: /sub.yaml
- name: inline
  blueprint: {filesystem: {blueprint.yaml: x}}
  imports: {data: [{name: url, dataRef: made}]}
subinstallationExecutions:
- {name: x, type: GoTemplate, file: /exec.yaml}
`, "sub.yaml", `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: InstallationTemplate
name: file
blueprint: {ref: cd://resources/x}
imports:
  data: [{name: p, dataRef: port}, {name: o, dataRef: opt}, {name: d, dataRef: deep}, {name: g, dataRef: "#global"}]
  targets:
  - {name: t, target: cluster}
  - {name: e, target: "list[0]"}
  - {name: s, targets: [cluster, "map[blue]"]}
  - {name: m, targetMap: {a: cluster}}
  - {name: lr, targetListRef: list}
  - {name: mr, targetMapRef: map}
exports: {data: [{name: x, dataRef: made}]}
`, "exec.yaml", `
subinstallations:
{{ range until 2 }}
- {name: rendered-{{ . }}, blueprint: {ref: "cd://resources/y"}}
{{ end }}`)
	v, err := Satisfy(context.Background(), env, given(), nil)
	require.NoError(t, err)
	templates, _, err := Subinstallations(context.Background(), env, v, nil)
	require.NoError(t, err)
	var names []string
	for _, s := range templates {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"rendered-0", "rendered-1", "file", "inline"}, names)
	var refs []string
	for _, d := range templates[2].Imports.Data {
		refs = append(refs, d.DataRef)
	}
	assert.Equal(t, []string{"port", "#global"}, refs)
}

func TestSubinstallationsRefuse(t *testing.T) {
	const ref = "blueprint: {ref: x}"
	tests := []struct{ name, subs, want string }{
		{"no name", `[{` + ref + `}]`, "has no name"},
		{"twice", `[{name: a, ` + ref + `}, {name: a, ` + ref + `}]`, `another sub-installation named "a"`},
		{"long", `[{name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, ` + ref + `}]`, "longer than 52"},
		{"label", `[{name: "a b", ` + ref + `}]`, "not a valid label value"},
		{"no blueprint", `[{name: a}]`, "exactly one of blueprint.ref, blueprint.filesystem and blueprint.path"},
		{"secret", `[{name: a, ` + ref + `, imports: {data: [{name: x, secretRef: {name: s}}]}}]`, `data import "x" must have a dataRef`},
		{"unknown data", `[{name: a, ` + ref + `, imports: {data: [{name: x, dataRef: nope}]}}]`, `"nope" is neither an import of type data`},
		{"data from target", `[{name: a, ` + ref + `, imports: {data: [{name: x, dataRef: cluster}]}}]`, `"cluster" is neither an import of type data`},
		{"unknown target", `[{name: a, ` + ref + `, imports: {targets: [{name: x, target: nope}]}}]`, `"nope" is neither an import of type target`},
		{"element of no list", `[{name: a, ` + ref + `, imports: {targets: [{name: x, target: "cluster[0]"}]}}]`, "neither an import of type target"},
		{"unknown list", `[{name: a, ` + ref + `, imports: {targets: [{name: x, targetListRef: map}]}}]`, `no import "map" of type targetList`},
		{"unknown map", `[{name: a, ` + ref + `, imports: {targets: [{name: x, targetMapRef: nope}]}}]`, `no import "nope" of type targetMap`},
		{"shadow", `[{name: a, ` + ref + `, exports: {data: [{name: x, dataRef: port}]}}]`, "is imported by its parent"},
		{"two exports", `[{name: a, ` + ref + `, exports: {data: [{name: x, dataRef: d}]}}, {name: b, ` + ref + `, exports: {data: [{name: x, dataRef: d}]}}]`, `also exported by sub-installation "a"`},
		{"cycle", `[{name: a, ` + ref + `, imports: {data: [{name: x, dataRef: db}]}, exports: {data: [{name: z, dataRef: da}]}}, {name: b, ` + ref + `, imports: {data: [{name: x, dataRef: da}]}, exports: {data: [{name: z, dataRef: db}]}}]`, "cycle found in dependencies: a → b → a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := environment(t, `
imports: [{name: port, schema: {}}, {name: cluster, targetType: x}, {name: map, type: targetMap, targetType: x}]
subinstallationExecutions: [{name: x, type: GoTemplate, file: f}]
`, "f", "subinstallations: "+tt.subs)
			_, _, err := Subinstallations(context.Background(), env, values(t), nil)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestSubinstallationFilesRefuse(t *testing.T) {
	for content, want := range map[string]string{
		"a: b: c":                     `file "/f" is not YAML`,
		"a: &a [*a]":                  `file "/f" has more than 16777216 bytes`,
		"kind: Installation\nname: a": `has kind "Installation"`,
		"name: [a]":                   `file "/f": name: is a JSON array, which the field cannot hold`,
	} {
		_, _, err := Subinstallations(context.Background(), environment(t, "subinstallations: [{file: /f}]", "f", content), values(t), nil)
		assert.ErrorContains(t, err, want)
	}
}

func exportInputs() ExportInputs {
	return ExportInputs{
		DeployItems: map[string]any{"item": map[string]any{"url": "http://x"}},
		DataObjects: map[string]any{"made": "by sub"},
		Targets:     map[string]any{"cluster": map[string]any{"metadata": map[string]any{"name": "t"}}},
	}
}

func TestExports(t *testing.T) {
	env := environment(t, `
exports:
- {name: url, schema: {type: string}}
- {name: deep, schema: {type: object}}
- {name: made, schema: {}}
- {name: new, targetType: kubernetes-cluster}
- {name: missing, schema: {}}
exportExecutions:
- name: one
  type: GoTemplate
  template: |
    exports:
      url: {{ .values.deployitems.item.url }}
      made: {{ index .dataobjects "made" }}
      deep: {a: {x: 1, z: 1}, list: [1]}
      undeclared: 5
- name: two
  type: Spiff
  template:
    exports:
      deep: {a: {z: 2}, list: [2]}
      new: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {kubeconfig: (( values.targets.cluster.metadata.name ))}, labels: {a: b}}
`)
	inputs := exportInputs()
	inputs.Mappings = mappings(t, "upper: (( url \"!\" ))\nmade: (( exports.new.config.kubeconfig ))")
	exports, _, err := Exports(context.Background(), env, values(t), inputs, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"url": "http://x", "upper": "http://x!", "made": "t",
		"deep": map[string]any{"a": map[string]any{"x": int64(1), "z": int64(2)}, "list": []any{int64(2)}},
	}, exports.Data)
	assert.Equal(t, []string{"undeclared"}, exports.Ignored)
	assert.JSONEq(t, `{"kubeconfig":"t"}`, string(exports.Targets["new"].Configuration.RawMessage))
	assert.Equal(t, map[string]string{"a": "b"}, exports.Targets["new"].Labels)

	assert.NoError(t, exports.Check(v1alpha1.InstallationExports{Data: []v1alpha1.DataExport{{Name: "upper"}}, Targets: []v1alpha1.TargetExport{{Name: "new"}}}))
	assert.ErrorContains(t, exports.Check(v1alpha1.InstallationExports{Data: []v1alpha1.DataExport{{Name: "missing"}}}), "data export is not defined")
	assert.ErrorContains(t, exports.Check(v1alpha1.InstallationExports{Targets: []v1alpha1.TargetExport{{Name: "url"}}}), "target export is not defined")
}

func TestAnExportThatIsNullHasNoValue(t *testing.T) {
	env := environment(t, "exports: [{name: zone, schema: {type: string}}]\nexportExecutions: [{name: e, type: GoTemplate, template: 'exports: {zone: null}'}]")
	inputs := exportInputs()
	inputs.Mappings = mappings(t, "mapped: (( exports.zone ))")
	exports, _, err := Exports(context.Background(), env, values(t), inputs, nil)
	require.NoError(t, err)
	assert.NoError(t, exports.Check(v1alpha1.InstallationExports{}))
	for _, name := range []string{"zone", "mapped"} {
		err := exports.Check(v1alpha1.InstallationExports{Data: []v1alpha1.DataExport{{Name: name}}})
		assert.ErrorContains(t, err, `export "`+name+`" has no value: exportExecutions or exportDataMappings make it null`)
	}
}

func TestExportsRefuse(t *testing.T) {
	tests := []struct{ name, definition, value, reason, want string }{
		{"schema", `{name: x, schema: {type: string}}`, `5`, ReasonSchemaValidationFailed, `export "x": the value does not match`},
		{"target type", `{name: x, targetType: a/b}`, `{type: a/c}`, ReasonSchemaValidationFailed, `target export "x" is of type "a/c", but the blueprint declares "a/b"`},
		{"no target", `{name: x, targetType: a/b}`, `text`, ReasonSchemaValidationFailed, `is not a target`},
		{"both", `{name: x, targetType: a/b}`, `{type: a/b, config: {}, secretRef: {name: s}}`, ReasonSchemaValidationFailed, "both config and secretRef"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := environment(t, "exports: ["+tt.definition+"]\nexportExecutions: [{name: e, type: GoTemplate, file: f}]", "f", "exports: {x: "+tt.value+"}")
			_, _, err := Exports(context.Background(), env, values(t), exportInputs(), nil)
			var failed *Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, tt.reason, failed.Reason)
			assert.Equal(t, "x", failed.Name)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestTemplatesSeeBindings(t *testing.T) {
	env := environment(t, `
deployExecutions:
- name: x
  type: GoTemplate
  template: |
    deployItems:
    - name: a
      type: t
      config: {def: {{ .blueprint.ref.resourceName }}, same: {{ .blueprintDef.ref.resourceName }}, cd: {{ .cd.component.name }},
        len: {{ len .components.components }}, cdDef: {{ hasKey . "componentDescriptorDef" }}, values: {{ hasKey . "values" }}}
`)
	descriptor := map[string]any{"component": map[string]any{"name": "c"}}
	env.ComponentDescriptor = descriptor
	env.Components = map[string]any{"components": []any{descriptor}}
	env.BlueprintDefinition = map[string]any{"ref": map[string]any{"resourceName": "bp"}}
	items, _, err := DeployItems(context.Background(), env, values(t), nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{"def":"bp","same":"bp","cd":"c","len":1,"cdDef":false,"values":false}`, string(items[0].Configuration.Raw))
}
