// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNamesThatNobodyDeclares has files, what is found, and how bad it is.
func TestNamesThatNobodyDeclares(t *testing.T) {
	named := head + "imports:\n- {name: namespace, schema: {}}\n- {name: list, schema: {}}\n" + "deployExecutions:\n- name: a\n  type: GoTemplate\n  file: deploy.yaml\n"
	items := head + "imports:\n- {name: cluster, targetType: x}\n- {name: data, schema: {}}\n- {name: list, type: targetList, targetType: x}\n" +
		"deployExecutions:\n- name: a\n  type: GoTemplate\n  file: deploy.yaml\n"
	item := func(name string, more ...string) string {
		return "deployItems:\n- name: a\n  target:\n    import: " + name + "\n    " + strings.Join(more, "\n") + "\n  config: {target: {import: none}}\n"
	}
	exports := head + "exports:\n- {name: url, schema: {}}\nexportExecutions:\n- {name: a, type: GoTemplate, file: exports.yaml}\n"
	child := head + "imports:\n- {name: num, schema: {}}\n" + childInPlace
	for name, test := range map[string]struct {
		files    fstest.MapFS
		severity Severity
		want     string // file:line: field: part of the message
	}{
		"target of no import":                      {tree(items, "deploy.yaml", item("clusters")), Error, `deploy.yaml:4: the blueprint has no import "clusters" of type target for the target of this deploy item; did you mean "cluster"?`},
		"target of no import, flow":                {tree(items, "deploy.yaml", "{{ if .x }}\ndeployItems:\n- {name: a, target: {import: other}}\n{{ end }}"), Error, `deploy.yaml:3: the blueprint has no import "other" of type target for the target of this deploy item; declare it`},
		"target of data":                           {tree(items, "deploy.yaml", item("data")), Error, `deploy.yaml:4: the import "data" is of type data, and the target of this deploy item must be of type target`},
		"target of a list by key":                  {tree(items, "deploy.yaml", item("list", "key: a")), Error, `the import "list" is of type targetList, and the target of this deploy item must be of type targetMap`},
		"target of Spiff":                          {tree(strings.Replace(items, "GoTemplate", "Spiff", 1), "deploy.yaml", item("clusters")), Error, `deploy.yaml:4: the blueprint has no import "clusters"`},
		"export of another name":                   {tree(exports, "exports.yaml", "exports:\n  urls: {{ .values }}\n"), Error, `exports.yaml:2: the blueprint has no export "urls", so the value is ignored; did you mean "url"?`},
		"export of no name":                        {tree(exports, "exports.yaml", "exports:\n  url: 1\n  port: 2\n"), Warning, `exports.yaml:3: the blueprint has no export "port", so the value is ignored; declare it`},
		"export that nobody gives":                 {tree(exports, "exports.yaml", "exports: {}\n"), Warning, `blueprint.yaml:4: exports[0]: no export execution gives the export "url"; add it to one`},
		"export of no execution":                   {tree(head + "exports:\n- {name: url, schema: {}}\n"), Warning, `exports[0]: no export execution gives the export "url"`},
		"undeclared import":                        {tree(named, "deploy.yaml", "a: b\nc: {{ .imports.namspace | quote }}\n"), Error, `deploy.yaml:2: the blueprint has no import "namspace"; did you mean "namespace"?`},
		"undeclared import of no near":             {tree(named, "deploy.yaml", "{{ toYaml $.imports.zone }}"), Error, `deploy.yaml:1: the blueprint has no import "zone"; declare it, or correct the name`},
		"undeclared import by index":               {tree(named, "deploy.yaml", "{{ index .imports \"namspace\" }}"), Error, `did you mean "namespace"?`},
		"undeclared import in range":               {tree(named, "deploy.yaml", "{{ range .imports.list }}{{ .imports.other }}{{ $.imports.namspace }}{{ end }}"), Error, `"namspace"`},
		"undeclared import in place":               {tree(strings.Replace(named, "file: deploy.yaml", "template: |\n    a: b\n    c: {{ .imports.Namespace }}\n", 1)), Error, `blueprint.yaml:11: deployExecutions[0].template: the blueprint has no import "Namespace"; did you mean "namespace"?`},
		"undeclared import asked for":              {tree(named, "deploy.yaml", "{{ if .imports.namspace }}{{ .imports.namspace }}{{ end }}"), Warning, `"namspace"`},
		"undeclared import defaulted":              {tree(named, "deploy.yaml", "{{ .imports.namspace | default \"x\" }}"), Warning, `"namspace"`},
		"undeclared import in include":             {tree(named, "deploy.yaml", "{{ include \"a.tpl\" . }}", "a.tpl", "{{ .imports.namspace }}"), Warning, `a.tpl:1: the blueprint has no import "namspace"`},
		"undeclared import of an import execution": {tree(head + "imports:\n- {name: namespace, schema: {}}\nimportExecutions:\n- {type: GoTemplate, template: \"bindings: {sum: {{ .imports.namspace }}}\"}\n"), Warning, `"namspace"`},
		"undeclared import of Spiff":               {tree(strings.Replace(named, "GoTemplate", "Spiff", 1), "deploy.yaml", "a: 1\nb: (( \"x\" imports.namspace ))\n"), Error, `deploy.yaml:2: the blueprint has no import "namspace"; did you mean "namespace"?`},
		"undeclared import of Spiff, or another":   {tree(strings.Replace(named, "GoTemplate", "Spiff", 1), "deploy.yaml", "b: (( .imports.namspace.x || \"\" ))\n"), Warning, `"namspace"`},
		"child without an import": {tree(child + "  imports: {data: [{name: other, dataRef: num}]}\n"), Error,
			"blueprint.yaml:16: subinstallations[0].imports: the blueprint of sub-installation \"a\" needs import \"zone\" of type data; add it to imports.data"},
		"child with a target as data": {tree(child + "  imports: {data: [{name: zone, dataRef: num}, {name: cluster, dataRef: num}]}\n"), Error,
			"needs import \"cluster\" of type target; add it to imports.targets"},
	} {
		t.Run(name, func(t *testing.T) {
			report := run(t, test.files, nil)
			found := ""
			for _, f := range report.Findings {
				if f.Severity == test.severity && strings.Contains(byLine(f), test.want) {
					found = byLine(f)
				}
			}
			assert.NotEmpty(t, found, "no %s with %q in %v", test.severity, test.want, report.Findings)
			if test.severity == Error {
				assert.False(t, report.Valid())
			}
		})
	}
}

const childInPlace = `subinstallations:
- name: a
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        imports:
        - {name: zone, schema: {}}
        - {name: cluster, targetType: x}
        - {name: free, required: false, schema: {}, imports: [{name: more, schema: {}}]}
`

func TestImportsOfAChildMayComeFromMappings(t *testing.T) {
	assert.Empty(t, run(t, tree(head+"imports:\n- {name: cluster, targetType: x}\n"+childInPlace+
		"  imports: {targets: [{name: cluster, target: cluster}]}\n  importDataMappings: {zone: eu}\n"), nil).Findings)
}

func TestImportsOfAChildInAFolder(t *testing.T) {
	artifact := tree(head+"subinstallations:\n- name: db\n  blueprint: {path: db}\n", "db/blueprint.yaml", head+"imports: [{name: zone, schema: {}}]\n")
	report, err := Blueprint(t.Context(), artifact, Options{Artifact: artifact, Folder: "."})
	require.NoError(t, err)
	require.Len(t, report.Findings, 1)
	assert.Contains(t, byLine(report.Findings[0]), `blueprint.yaml:4: subinstallations[0].imports: the blueprint of sub-installation "db" needs import "zone"`)
}

func TestWhatOnlyAnExecutionTellsIsNotReported(t *testing.T) {
	head := head + "imports:\n- {name: cluster, targetType: x}\nexports:\n- {name: url, schema: {}}\n- {name: port, schema: {}}\n"
	executions := "deployExecutions:\n- {name: a, type: GoTemplate, file: a.tpl}\nexportExecutions:\n- {name: a, type: %s, file: b.tpl}\n"
	items := "deployItems:\n- name: a\n  target:\n    import: {{ .x }}\n- name: b\n  target: {import: cluster}\n{{ range .x }}\n- {{ toYaml . | indent 2 }}\n{{ end }}"
	for name, test := range map[string]struct{ kind, items, exports string }{
		"expressions":    {"GoTemplate", items, "exports:\n  {{ .x }}: 1\n"},
		"lines":          {"GoTemplate", "{{ include \"b.tpl\" . }}", "exports:\n  url: 1\n{{ toYaml .x | indent 2 }}\n"},
		"branches":       {"GoTemplate", "{{ if .x }}\ndeployItems: []\n{{ else }}\ndeployItems:\n- {name: a, target: {import: cluster}}\n{{ end }}", "exports:\n{{- if .x }}\n  url: 1\n{{- else }}\n  url: 2\n{{- end }}\n  port: 1\n"},
		"no YAML":        {"GoTemplate", "deployItems:\n- {{ if .x }}name: b\n- c", "{{ $x := 1 }}{{ . }}\nexports: {{ toYaml . }}"},
		"Spiff":          {"Spiff", "deployItems: []", "exports: (( values ))\n"},
		"merge of Spiff": {"Spiff", "deployItems: []", "exports:\n  <<: (( values ))\n"},
	} {
		t.Run(name, func(t *testing.T) {
			found := run(t, tree(head+fmt.Sprintf(executions, test.kind), "a.tpl", test.items, "b.tpl", test.exports), nil).Findings
			assert.Empty(t, slices.DeleteFunc(found, func(f Finding) bool { return strings.Contains(f.Message, "cannot be parsed") }))
		})
	}
}

func TestImportsThatAreThereAreNotReported(t *testing.T) {
	blueprint := head + "imports:\n- {name: a, required: false, schema: {}, imports: [{name: b, schema: {}}]}\n"
	executions := "deployExecutions:\n- {name: a, type: GoTemplate, file: a.tpl}\n- {name: b, type: Spiff, file: b.yaml}\n"
	template := "{{ .imports.a }}{{ $.imports.b }}{{ with .x }}{{ .imports.other }}{{ end }}{{ range $imports := .imports }}{{ .imports.c }}{{ end }}"
	for name, files := range map[string]fstest.MapFS{
		"declared":                 tree(blueprint+executions, "a.tpl", template, "b.yaml", "a: (( imports.a || \"imports.x\" ))\nb: (( values.imports.c imports.b.c ))"),
		"computed":                 tree(blueprint+"importExecutions:\n- {type: GoTemplate, template: \"bindings: {sum: 1}\"}\n"+executions, "a.tpl", "{{ .imports.sum }}", "b.yaml", "a: (( imports.sum ))"),
		"of the template of Spiff": tree(blueprint+executions, "a.tpl", "", "b.yaml", "imports: {c: 1}\na: (( imports.c ))"),
	} {
		t.Run(name, func(t *testing.T) { assert.Empty(t, run(t, files, nil).Findings) })
	}
}
