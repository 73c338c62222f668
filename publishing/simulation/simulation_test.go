// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const shop = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: replicas, type: data, schema: {type: integer}}
- {name: color, type: data, required: false, default: {value: red}, schema: {type: string}}
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
- {name: edges, type: targetList, targetType: landscaper.gardener.cloud/kubernetes-cluster}
- {name: zones, type: targetMap, targetType: landscaper.gardener.cloud/kubernetes-cluster}
importExecutions:
- name: double
  type: GoTemplate
  template: |
    bindings: {twice: {{ mul .imports.replicas 2 }}}
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: shop
      type: example.com/shop
      target: {import: cluster}
      config: {replicas: {{ .imports.twice }}, color: {{ .imports.color }}}
    - name: edge
      type: example.com/shop
      target: {import: edges, index: 1}
      config: {}
    - name: zone
      type: example.com/shop
      target: {import: zones, key: north}
      config: {}
subinstallations:
- name: below
  blueprint: {ref: cd://resources/below}
  imports: {data: [{name: replicas, dataRef: replicas}]}
`

func blueprint(text string) fstest.MapFS { return fstest.MapFS{"blueprint.yaml": {Data: []byte(text)}} }

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &out))
	return out
}

const cluster = `{spec: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {kubeconfig: x}}}`

func TestRenderMakesWhatTheControllerMakes(t *testing.T) {
	result, err := Render(t.Context(), blueprint(shop), Options{Namespace: "team", Imports: values(t, `
replicas: 3
cluster: {metadata: {name: main}, spec: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {kubeconfig: x}}}
edges: [`+cluster+`, `+cluster+`]
zones: {north: `+cluster+`}
`)})
	require.NoError(t, err)
	require.Len(t, result.DeployItems, 3)
	assert.JSONEq(t, `{"replicas":6,"color":"red"}`, string(result.DeployItems[0].Configuration.Raw))
	for i, name := range []string{"main", "edges-1", "zones-north"} {
		assert.Equal(t, name, result.DeployItems[i].Target.Name)
		assert.Equal(t, "team", result.DeployItems[i].Target.Namespace)
	}
	require.Len(t, result.Subinstallations, 1)
	assert.Equal(t, "below", result.Subinstallations[0].Name)
	assert.EqualValues(t, 6, result.Imports["twice"])
}

func TestRenderRefuses(t *testing.T) {
	complete := "replicas: 3\ncluster: " + cluster + "\nedges: []\nzones: {}\n"
	for name, test := range map[string]struct{ blueprint, values, want string }{
		"no blueprint":        {"x", "{}", "blueprint.yaml"},
		"unknown import":      {shop, "replica: 3", `the blueprint has no import "replica"; it has: cluster, color, edges, replicas, zones`},
		"missing import":      {shop, "cluster: " + cluster, `replicas`},
		"value of a schema":   {shop, complete + "color: 3", "color"},
		"target without type": {shop, "cluster: {}", `import "cluster" of type target: write a Target, with spec.type and spec.config`},
		"target as data":      {shop, "cluster: main", `import "cluster" of type target: write a Target`},
		"list as target":      {shop, "edges: " + cluster, `import "edges" of type targetList: write a list of Targets`},
		"item of a list":      {shop, "edges: [x]", `import "edges" of type targetList: [0]: write a Target`},
		"map as list":         {shop, "zones: [x]", `import "zones" of type targetMap: write Targets by their keys`},
		"template":            {shop, complete, `index 1 out of bounds`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Render(t.Context(), blueprint(test.blueprint), Options{Imports: values(t, test.values)})
			assert.ErrorContains(t, err, test.want)
		})
	}
}
