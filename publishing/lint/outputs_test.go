// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestKeysOfWhatTemplatesMake(t *testing.T) {
	const deploy = head + "imports:\n- {name: namespace, type: data, schema: {type: string}}\n- {name: cluster, targetType: landscaper.gardener.cloud/kubernetes-cluster}\n" +
		"deployExecutions:\n- {name: default, type: GoTemplate, file: deploy.yaml}\n"
	const item = `
{{- $ns := .imports.namespace }}
deployItems:
{{- range $i, $name := list 1 2 }}
- name: item-{{ $i }}
  type: landscaper.gardener.cloud/kubernetes-manifest
  target: {import: cluster}
  config:
    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
    {{- if $ns }}
    updateStrategy: {{ $ns }}
    {{- else }}
    updateStrategy: patch
    {{- end }}
    manifests:
{{ toYaml .imports | indent 4 }}
    - policy: manage
      manifest: {kind: A, anything: {{ $ns }}, {{ $ns }}: 1}
{{- end }}
`
	for name, test := range map[string]struct {
		replace, with string
		says          []string
	}{
		"nothing is wrong":        {"", "", nil},
		"list of the execution":   {"deployItems:", "deployItem:", []string{"deploy.yaml:3: deployItem: the key is unknown; did you mean deployItems?"}},
		"beside the list":         {"deployItems:", "config: 1\ndeployItems:", nil},
		"deploy item":             {"  target:", "  targetRef:", []string{"deploy.yaml:7: deployItems[0].targetRef: the key is unknown and has no effect; check its spelling or remove it"}},
		"configuration":           {"manifests:", "manifets:", []string{"deploy.yaml:15: deployItems[0].config.manifets: the key is unknown; did you mean manifests?"}},
		"beside its place":        {"    manifests:", "    dependsOn: [b]\n    manifests:", []string{"deploy.yaml:15: deployItems[0].config.dependsOn: the key is unknown; did you mean dependsOn of the deploy item, beside config?"}},
		"type":                    {"kubernetes-manifest", "kubernetes-manifests", []string{`deploy.yaml:6: deployItems[0].type: "landscaper.gardener.cloud/kubernetes-manifests" is unknown; did you mean landscaper.gardener.cloud/kubernetes-manifest?`}},
		"in a list":               {"policy:", "polic:", []string{"deploy.yaml:17: deployItems[0].config.manifests[0].polic: the key is unknown; did you mean manifests[0].policy?"}},
		"in a branch":             {"updateStrategy: patch", "updateStrateg: patch", []string{"deploy.yaml:13: deployItems[0].config.updateStrateg: the key is unknown; did you mean updateStrategy?"}},
		"version":                 {"v1alpha2", "v1", []string{`deploy.yaml:9: deployItems[0].config.apiVersion: "manifest.deployer.landscaper.gardener.cloud/v1" does not exist; use manifest.deployer.landscaper.gardener.cloud/v1alpha1 or manifest.deployer.landscaper.gardener.cloud/v1alpha2`}},
		"version of a template":   {"v1alpha2", "{{ $ns }}", nil},
		"deployer of somebody":    {"landscaper.gardener.cloud/kubernetes-manifest", "example.com/other", nil},
		"branches of deployers":   {"  config:\n", "  {{- if $ns }}\n  type: landscaper.gardener.cloud/helm\n  config: {chart: {ref: x}}\n  {{- else }}\n  config:\n  {{- end }}\n", nil},
		"YAML after an execution": {"manifests:", "{{ $ns }}a: b: c\n    manifets:", nil},
	} {
		t.Run(name, func(t *testing.T) {
			report := run(t, tree(deploy, "deploy.yaml", strings.Replace(item, test.replace, test.with, 1)), nil)
			var says []string
			for _, finding := range report.Findings {
				assert.Equal(t, Error, finding.Severity)
				says = append(says, byLine(finding))
			}
			assert.Equal(t, test.says, says)
		})
	}
}

func TestKeysOfWhatSpiffMakes(t *testing.T) {
	report := run(t, tree(head+`imports:
- {name: ref, type: data, schema: {type: string}}
deployExecutions:
- name: default
  type: Spiff
  file: deploy.yaml
`, "deploy.yaml", `
helper: {x: 1}
deployItems:
- <<: (( helper ))
  name: a
  type: landscaper.gardener.cloud/helm
  config: {name: a, namespace: a, chart: {ref: (( imports.ref ))}, vaules: {replicas: 1}}
`), nil)
	require.Len(t, report.Findings, 1)
	assert.Contains(t, byLine(report.Findings[0]), "deployItems[0].config.vaules: the key is unknown; did you mean values?")
}

func TestValuesOfWhatTemplatesMake(t *testing.T) {
	const manifest, helm = "kubernetes-manifest", "helm"
	for name, test := range map[string]struct {
		kind, config string
		says         []string
	}{
		"nothing is wrong":       {manifest, "manifests: []", nil},
		"objects of a template":  {manifest, "manifests:\n{{ toYaml .imports | indent 4 }}", nil},
		"an object of one":       {manifest, "manifests: [{manifest: {{ toJson .imports }}}]", nil},
		"a branch in a line":     {manifest, "manifests: []\n    updateStrategy: {{ if .imports }}patch{{ else }}update{{ end }}", nil},
		"what is included":       {helm, "{{ include \"chart\" . }}", nil},
		"null":                   {manifest, "manifests: null", []string{"deployItems[0].config.manifests: is missing; write the objects to deploy there, or [] to uninstall all that were deployed"}},
		"nothing there":          {manifest, "manifests:", []string{"deployItems[0].config.manifests: is missing; write the objects to deploy there, or [] to uninstall all that were deployed"}},
		"no list":                {manifest, "manifests: {}", []string{"deployItems[0].config.manifests: is a JSON object, which the field cannot hold; correct the type of the value"}},
		"an empty object":        {manifest, "manifests: [{policy: manage, manifest: {}}]", []string{"deployItems[0].config.manifests[0].manifest: is empty, write the object to deploy there"}},
		"a policy in upper case": {manifest, "manifests: [{policy: Manage, manifest: {kind: A}}]", []string{`deployItems[0].config.manifests[0]: policy "Manage" is unknown`}},
		"a strategy":             {manifest, "updateStrategy: Apply\n    manifests: []", []string{`deployItems[0].config.updateStrategy: update strategy "Apply" is unknown`}},
		"a kind":                 {manifest, "kind: ProviderConfig\n    manifests: []", []string{`deployItems[0].config.kind: "ProviderConfig" is not known to the manifest deployer, use ProviderConfiguration`}},
		"no chart":               {helm, "name: a\n    namespace: b\n    chart: {}", []string{"deployItems[0].config.chart: names no source"}},
		"no name":                {helm, "namespace: b\n    chart: {ref: \"example.com/chart:1\"}", []string{"deployItems[0].config.name: is empty, set it"}},
		"a setting of Helm": {helm, "name: a\n    namespace: b\n    chart: {ref: \"example.com/chart:1\"}\n    helmDeploymentConfig: {upgrade: {Atomic: true}}",
			[]string{"deployItems[0].config.helmDeploymentConfig.upgrade.Atomic: is unknown, use only "}},
	} {
		t.Run(name, func(t *testing.T) {
			assertMade(t, "deployItems:\n- name: a\n  type: landscaper.gardener.cloud/"+test.kind+"\n  config:\n    "+test.config+"\n", test.says)
		})
	}
}

func TestDeployItemsThatNobodyCanRead(t *testing.T) {
	for made, says := range map[string][]string{
		"deployItems: {}\n":   {"deployItems: is a JSON object, which the field cannot hold"},
		"deployItems: [[]]\n": {"deploy item (deployItems[0]): the document: is a JSON array, which the field cannot hold"},
		"deployItems: [{name: a, type: t, config: 'manifests: []'}]\n":                                           {`deploy item "a": config is no object of keys and values; write one, for type t`},
		"deployItems: [{name: yes, type: t, config: {}}]\n":                                                      {"name: is a JSON bool, which the field cannot hold"},
		"deployItems: [{name: a, type: t, config: {}, dependsOn: [b]}]\n":                                        {`deploy item "a" depends on "b", which does not exist`},
		"deployItems: []\n---\ndeployItems: []\n":                                                                {"the output has a second document"},
		"deployItems: [{name: a, type: t, config: {a: 1, a: 2}}]\n":                                              {"the output has a key twice in one object"},
		"deployItems: [{name: a, type: t, config: null}]\n":                                                      {`deploy item "a" has no config; give it one, for type t`},
		"deployItems: [{type: t, config: {}}]\n":                                                                 {"deployItems[0] has no name; give it one"},
		"deployItems:\n- name: a\n  type: t\n  config:\n    {{ .imports.ref }}: x\n    {{ .imports.ref }}b: y\n": nil,
		"deployItems: [{Name: a, Type: t, Config: {}}]\n":                                                        nil,
		"deployItems:\n- type: t\n{{ toYaml .imports | indent 2 }}\n":                                            nil,
	} {
		t.Run(made, func(t *testing.T) { assertMade(t, made, says) })
	}
}

// assertMade checks what is said of a deploy execution.
func assertMade(t *testing.T, made string, says []string) {
	t.Helper()
	report := run(t, tree(head+"imports:\n- {name: ref, type: data, schema: {}}\ndeployExecutions:\n- {name: a, type: GoTemplate, file: a.yaml}\n",
		"a.yaml", made, "chart", "name: a\n"), nil)
	require.Len(t, report.Findings, len(says), "%v", report.Findings)
	for i, finding := range report.Findings {
		assert.Contains(t, byLine(finding), "a.yaml:")
		assert.Contains(t, byLine(finding), says[i])
	}
}

func TestItem(t *testing.T) {
	for name, test := range map[string]struct{ kind, config, want string }{
		"good":          {v1alpha1.ManifestDeployItemType, `{"manifests": []}`, ""},
		"no manifests":  {v1alpha1.ManifestDeployItemType, `{}`, `deploy item "web": config: manifests: is missing`},
		"null":          {v1alpha1.ManifestDeployItemType, `{"manifests": null}`, `deploy item "web": config: manifests: is missing`},
		"no chart":      {v1alpha1.HelmDeployItemType, `{"name": "a", "namespace": "b"}`, `deploy item "web": config: chart`},
		"key":           {v1alpha1.HelmDeployItemType, `{"vaules": {}}`, `deploy item "web": config: vaules: the key is unknown; did you mean values?`},
		"version":       {v1alpha1.MockDeployItemType, `{"apiVersion": "v7"}`, `deploy item "web": config: apiVersion: "v7" does not exist; use mock.deployer.landscaper.gardener.cloud/v1alpha1`},
		"somebody else": {"example.com/other", `{"vaules": {}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Item(&v1alpha1.DeployItemTemplate{Name: "web", Type: test.kind, Configuration: &runtime.RawExtension{Raw: []byte(test.config)}})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}
