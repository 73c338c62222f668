// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/template"
)

// fuzzedBlueprint checks, defaults, maps and prints whatever it imports.
const fuzzedBlueprint = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
localTypes:
  port: {type: integer, minimum: 1}
imports:
- {name: port, required: false, default: {value: 80}, schema: {$ref: "local://port"}}
- {name: settings, required: false, schema: {type: object, additionalProperties: {type: [string, number, "null"]}}, imports: [{name: extra, schema: {}}]}
- {name: anything, required: false, schema: {}}
- {name: cluster, targetType: landscaper.gardener.cloud/kubernetes-cluster, required: false}
importExecutions:
- {name: derive, type: GoTemplate, template: "bindings: {derived: {{ toJson .imports.anything }}}"}
deployExecutions:
- name: deploy
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: example.com/x
      config: {{ toJson .imports }}
- name: spiff
  type: Spiff
  template: {deployItems: [{name: other, type: example.com/x, config: {all: (( imports ))}}]}
`

// fuzzedTime is far more than the budgets allow: what crosses it does not end by itself.
const fuzzedTime = time.Minute

func FuzzImportValues(f *testing.F) {
	for _, seed := range []string{`port: 8080`, `port: zero`, `settings: {a: b}`, "settings: {a: 1}\nextra: [1, {b: null}]", `anything: (( 1 + 1 ))`,
		`anything: "{{ . }}"`, `anything: <no value>`, `cluster: {spec: {type: x}}`, `anything: {"<<": (( merge )), "((a))": "! b"}`, `anything: 1e400`} {
		f.Add(seed, `port: (( port ))`)
		f.Add(seed, `anything: {a: (( anything.b || "none" ))}`)
	}
	files := fstest.MapFS{model.FileName: {Data: []byte(fuzzedBlueprint)}}
	blueprint, err := model.Load(files)
	require.NoError(f, err)
	env := &Environment{
		Blueprint: blueprint, Files: files, Namespace: "ns", Schemas: schema.New(schema.Options{LocalTypes: blueprint.LocalTypes, Blueprint: files}),
		Budget: template.Budget{Time: time.Second, OutputBytes: 1 << 16, Steps: 10000, FileBytes: 4096},
	}
	f.Fuzz(func(t *testing.T, imported, mapped string) {
		var data map[string]any
		var mappings map[string]v1alpha1.AnyJSON
		if yaml.Unmarshal([]byte(imported), &data) != nil || yaml.Unmarshal([]byte(mapped), &mappings) != nil {
			return
		}
		started := time.Now()
		defer func() { require.Less(t, time.Since(started), fuzzedTime) }()
		values, err := Satisfy(context.Background(), env, &Imports{Data: data}, mappings)
		if err != nil || ImportExecutions(context.Background(), env, values) != nil {
			return
		}
		items, _, err := DeployItems(context.Background(), env, values, nil)
		if err == nil {
			require.Len(t, items, 2)
		}
	})
}
