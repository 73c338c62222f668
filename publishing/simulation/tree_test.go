// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// chained is a blueprint with a consumer in front of the producer whose exports it imports, both written in place.
const chained = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: domain, type: data, schema: {type: string}}
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
exports:
- {name: shown, type: data, schema: {type: string}}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports: {shown: {{ index .values.dataobjects "address" }}}
subinstallations:
- name: consumer
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        imports:
        - {name: url, type: data, schema: {type: string}}
        - {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
        deployExecutions:
        - name: default
          type: GoTemplate
          template: |
            deployItems: [{name: web, type: x, target: {import: cluster}, config: {url: {{ .imports.url }}, zone: {{ .imports.cluster.metadata.labels.zone }}}}]
  imports:
    data: [{name: address, dataRef: address}]
    targets: [{name: cluster, target: made}]
  importDataMappings: {url: (( address "/path" ))}
- name: producer
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        imports:
        - {name: domain, type: data, schema: {type: string}}
        - {name: clusters, type: targetList, targetType: landscaper.gardener.cloud/kubernetes-cluster}
        exports:
        - {name: address, type: data, schema: {type: string}}
        - {name: made, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
        deployExecutions:
        - name: default
          type: GoTemplate
          template: |
            deployItems: [{name: db, type: x, target: {import: clusters, index: 0}, config: {}}]
        exportExecutions:
        - name: default
          type: GoTemplate
          template: |
            exports:
              address: {{ index .values.deployitems "db" "host" }}
              made: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {kubeconfig: x}, labels: {zone: north}}
  imports:
    data: [{name: domain, dataRef: domain}]
    targets: [{name: clusters, targets: [cluster]}]
  exports:
    data: [{name: address, dataRef: address}]
    targets: [{name: made, target: made}]
`

const domainOfMain = `{domain: example.com, cluster: {metadata: {name: main}, spec: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {}}}}`

func templates(t *testing.T, text string) ExportTemplates {
	t.Helper()
	var out ExportTemplates
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &out))
	return out
}

const hostOfItems = `{deployItems: [{name: host, selector: ^root/producer/, template: 'exports: {host: {{ .deployItem.name }}.{{ .imports.domain }}}'}]}`

func TestTreeCarriesExportsToSiblings(t *testing.T) {
	steps, err := Tree(t.Context(), blueprint(chained), Options{Namespace: "team", Imports: values(t, domainOfMain)}, templates(t, hostOfItems))
	require.NoError(t, err)
	require.Len(t, steps, 3)
	assert.Equal(t, "root", steps[0].Path)
	assert.Equal(t, map[string]any{"shown": "db.example.com"}, steps[0].DataExports)
	assert.Equal(t, "root/producer", steps[1].Path)
	assert.Equal(t, "main", steps[1].DeployItems[0].Target.Name)
	assert.Equal(t, map[string]any{"address": "db.example.com"}, steps[1].DataExports)
	assert.Equal(t, "root/consumer", steps[2].Path)
	assert.JSONEq(t, `{"url":"db.example.com/path","zone":"north"}`, string(steps[2].DeployItems[0].Configuration.Raw))
	assert.Equal(t, "made", steps[2].DeployItems[0].Target.Name)
}

func TestTemplatesOfInstallationsWin(t *testing.T) {
	both := templates(t, hostOfItems)
	both.Installations = templates(t, `{installations: [{name: own, selector: producer$, template: 'dataExports: {address: {{ .installationPath }}}'}]}`).Installations
	steps, err := Tree(t.Context(), blueprint(chained), Options{Imports: values(t, domainOfMain)}, both)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"shown": "root/producer"}, steps[0].DataExports)
}

func TestTreeRefuses(t *testing.T) {
	for name, test := range map[string]struct{ blueprint, exports, want string }{
		"nothing exports":   {chained, `{}`, `root/producer: `},
		"broken selector":   {chained, `{deployItems: [{name: x, selector: "("}]}`, `export template "x": selector`},
		"broken template":   {chained, `{deployItems: [{name: x, selector: db, template: "{{"}]}`, `root/producer/db: export template "x"`},
		"no component":      {"apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nsubinstallations: [{name: a, blueprint: {ref: 'cd://resources/a'}}]", `{}`, `root/a: blueprint.ref "cd://resources/a": give the component`},
		"broken sub":        {"apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nsubinstallations: [{name: a, blueprint: {filesystem: {blueprint.yaml: '['}}}]", `{}`, `root/a: `},
		"unknown of parent": {"apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nsubinstallations: [{name: a, blueprint: {filesystem: {}}, imports: {data: [{name: x, dataRef: y}]}}]", `{}`, `y`},
	} {
		t.Run(name, func(t *testing.T) {
			options := Options{}
			if test.blueprint == chained {
				options.Imports = values(t, domainOfMain)
			}
			_, err := Tree(t.Context(), blueprint(test.blueprint), options, templates(t, test.exports))
			assert.ErrorContains(t, err, test.want)
		})
	}
}
