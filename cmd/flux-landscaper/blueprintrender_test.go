// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	charted = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: replicas, type: data, schema: {type: integer}}
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
deployExecutions:
- {name: default, type: GoTemplate, file: /execution.yaml}
subinstallations:
- {name: below, blueprint: {ref: cd://resources/below}}
`
	execution = `
deployItems:
- name: web
  type: landscaper.gardener.cloud/helm
  target: {import: cluster}
  config:
    name: web
    namespace: shop
    chart: {resourceRef: {{ getResourceKey "cd://componentReferences/base/resources/chart" }} }
    values: {image: {{ (getResource .cd "name" "image").access.imageReference }}, replicas: {{ .imports.replicas }}}
`
	shopDescriptor = `
meta: {schemaVersion: v2}
component:
  name: example.com/shop
  version: 1.0.0
  provider: me
  repositoryContexts: []
  sources: []
  componentReferences: [{name: base, componentName: example.com/base, version: 2.0.0}]
  resources:
  - {name: image, version: 1.0.0, type: ociImage, relation: external, access: {type: ociArtifact, imageReference: "example.com/web:1"}}
`
	baseDescriptor = `
meta: {schemaVersion: v2}
component:
  name: example.com/base
  version: 2.0.0
  provider: me
  repositoryContexts: []
  sources: []
  componentReferences: []
  resources:
  - {name: chart, version: 2.0.0, type: helmChart, relation: external, access: {type: ociArtifact, imageReference: "example.com/chart:2"}}
`
	importValues = `
imports:
  replicas: 1
  cluster: {metadata: {name: main}, spec: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {kubeconfig: x}}}
`
)

// TestC34RenderWithoutACluster shows what an Installation of a blueprint would make.
func TestC34RenderWithoutACluster(t *testing.T) {
	p := start(t)
	p.write("shop/blueprint.yaml", charted, "shop/execution.yaml", execution, "shop.yaml", shopDescriptor, "base.yaml", baseDescriptor, "values.yaml", importValues)
	command := []string{"blueprint", "render", "shop", "-f", "values.yaml", "-c", "shop.yaml", "-a", "base.yaml"}
	all := p.must(append(command, "--set", "replicas=3")...)
	for _, part := range []string{"# deployitems/web", "name: main", "replicas: 3", "image: example.com/web:1", "# subinstallations/below"} {
		assert.Contains(t, all, part)
	}
	items := p.must(append(command, "di", "-o", "json")...)
	assert.Contains(t, items, `"replicas": 1`)
	assert.NotContains(t, items, "below")
	assert.Contains(t, p.must(append(command, "imports")...), "kubeconfig: x")

	p.must(append(command, "-w", "out")...)
	written := p.read("out")
	assert.Equal(t, []string{"deployitems/web.yaml", "subinstallations/below.yaml"}, slices.Sorted(maps.Keys(written)))
	p.must(append(command, "-w", "out")...)
	assert.Equal(t, written, p.read("out"))
}

func TestRenderReadsAllDescriptorsOfAFile(t *testing.T) {
	p := start(t)
	p.write("shop/blueprint.yaml", charted, "shop/execution.yaml", execution, "values.yaml", importValues, "shop.yaml", "---"+shopDescriptor,
		"others.yaml", "# others\n---"+strings.Replace(baseDescriptor, "example.com/base", "example.com/other", 1)+"---"+baseDescriptor+"---\n")
	assert.Contains(t, p.must("blueprint", "render", "shop", "-f", "values.yaml", "-c", "shop.yaml", "-a", "others.yaml"), "# deployitems/web")
}

func TestRenderNeedsOnlyDescriptorsThatTemplatesAskFor(t *testing.T) {
	p := start(t)
	p.write("shop/blueprint.yaml", charted, "shop/execution.yaml", execution, "values.yaml", importValues, "shop.yaml", shopDescriptor)
	at := []string{"blueprint", "render", "shop", "-f", "values.yaml", "-c", "shop.yaml"}
	assert.Contains(t, p.fail(at...), "the descriptor of component example.com/base:2.0.0 is missing, give it with --additional-component-descriptor (-a)")
	p.write("shop/execution.yaml", "deployItems: []")
	assert.Contains(t, p.must(at...), "# subinstallations/below")
	p.write("shop/execution.yaml", `{{ $base := getComponent .cd "name" "base" }}`)
	assert.Contains(t, p.fail(at...), "the descriptor of component example.com/base:2.0.0 is missing")
}

// TestC34RenderOfAComponentVersion takes the component from where it was written to.
func TestC34RenderOfAComponentVersion(t *testing.T) {
	p := start(t)
	p.write("shop/blueprint.yaml", charted, "shop/execution.yaml", execution, "values.yaml", importValues, "constructor.yaml", `
components:
- name: example.com/shop
  version: 1.0.0
  provider: {name: me}
  componentReferences: [{name: base, componentName: example.com/base, version: 2.0.0}]
  resources: [{name: image, type: ociImage, version: 1.0.0, access: {type: ociArtifact, imageReference: "example.com/web:1"}}]
- name: example.com/base
  version: 2.0.0
  provider: {name: me}
  resources: [{name: chart, type: helmChart, version: 2.0.0, access: {type: ociArtifact, imageReference: "example.com/chart:2"}}]
`)
	p.must("component", "push", "-f", "constructor.yaml", "--ctf", "ctf", "--skip-digest-generation")
	out := p.must("blueprint", "render", "shop", "-f", "values.yaml", "--component", "example.com/shop:1.0.0", "--repository", "./ctf")
	assert.Contains(t, out, "image: example.com/web:1")
}

// TestC34SimulationOfSubinstallations takes the blueprint of a sub-installation from a component that the own one refers to.
func TestC34SimulationOfSubinstallations(t *testing.T) {
	p := start(t)
	p.write("shop/blueprint.yaml", `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
exports:
- {name: url, type: data, schema: {type: string}}
exportExecutions:
- {name: default, type: GoTemplate, template: 'exports: {url: {{ index .values.dataobjects "host" }}/shop}'}
subinstallations:
- name: db
  blueprint: {ref: cd://componentReferences/base/resources/blueprint}
  exports: {data: [{name: host, dataRef: host}]}
`, "base/blueprint.yaml", `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
exports:
- {name: host, type: data, schema: {type: string}}
deployExecutions:
- {name: default, type: GoTemplate, template: 'deployItems: [{name: item, type: x, config: {of: {{ .cd.component.name }}}}]'}
exportExecutions:
- {name: default, type: GoTemplate, template: 'exports: {host: {{ index .values.deployitems "item" "host" }}}'}
`, "constructor.yaml", `
components:
- name: example.com/shop
  version: 1.0.0
  provider: {name: me}
  componentReferences: [{name: base, componentName: example.com/base, version: 2.0.0}]
- name: example.com/base
  version: 2.0.0
  provider: {name: me}
  resources: [{name: blueprint, type: landscaper.gardener.cloud/blueprint, input: {type: dir, path: base, compress: true, mediaType: application/vnd.gardener.landscaper.blueprint.v1+tar+gzip}}]
`, "exports.yaml", `{deployItems: [{name: host, selector: /item$, template: 'exports: {host: db.example.com}'}]}`,
		"unknown.yaml", "items: []")
	p.must("component", "push", "-f", "constructor.yaml", "--ctf", "ctf")
	command := []string{"blueprint", "render", "shop", "--component", "example.com/shop:1.0.0", "--repository", "./ctf", "-e"}
	out := p.must(append(command, "exports.yaml")...)
	for _, part := range []string{"# root/db/deployitems/item", "of: example.com/base", "# root/exports", "url: db.example.com/shop"} {
		assert.Contains(t, out, part)
	}
	p.must(append(command, "exports.yaml", "-w", "out")...)
	assert.Equal(t, []string{"root/db/deployitems/item.yaml", "root/db/exports.yaml", "root/exports.yaml", "root/subinstallations/db.yaml"},
		slices.Sorted(maps.Keys(p.read("out"))))
	assert.Contains(t, p.must(append(command, "exports.yaml", "di", "-o", "json")...), `"path": "root/db"`)
	assert.Contains(t, p.fail(append(command, "unknown.yaml")...), "--export-templates: unknown.yaml: ")
}

func TestRenderNamesExportsThatAreIgnored(t *testing.T) {
	p := start(t)
	p.write("shop/blueprint.yaml", "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nexports: [{name: url, schema: {}}]\n"+
		"exportExecutions: [{name: x, type: GoTemplate, template: 'exports: {urls: 1}'}]\n", "exports.yaml", "{}")
	assert.Contains(t, p.must("blueprint", "render", "shop", "-e", "exports.yaml", "-o", "json"), `"ignoredExports": [
      "urls"
    ]`)
}

func TestRenderRefuses(t *testing.T) {
	p := start(t)
	p.write("shop/blueprint.yaml", charted, "shop/execution.yaml", execution, "shop.yaml", shopDescriptor, "base.yaml", baseDescriptor, "values.yaml", importValues, "bad.yaml", "replicas: 3",
		"up/blueprint.yaml", "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\ndeployExecutions:\n- name: x\n  type: GoTemplate\n"+
			"  template: |\n    deployItems: [{name: ../../up, type: x, config: {}}]\n",
		"typo/blueprint.yaml", "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\ndeployExecutions:\n- {name: x, type: GoTemplate, file: x.yaml}\n",
		"typo/x.yaml", "deployItems:\n- name: web\n  type: landscaper.gardener.cloud/kubernetes-manifest\n  config: {manifets: []}\n")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"part":                        {[]string{"shop", "charts"}, `"charts" cannot be shown; use all, imports, deployitems or subinstallations`},
		"directory":                   {[]string{"none"}, "directory none cannot be opened"},
		"file":                        {[]string{"shop", "-f", "bad.yaml"}, "--file: bad.yaml: write imports: {name: value}"},
		"missing import":              {[]string{"shop"}, "replicas"},
		"no component":                {[]string{"shop", "-f", "values.yaml"}, "there is no component descriptor"},
		"half a closure":              {[]string{"shop", "-f", "values.yaml", "-c", "shop.yaml"}, "example.com/base"},
		"others alone":                {[]string{"shop", "-f", "values.yaml", "-a", "shop.yaml"}, "--component-descriptor"},
		"file and line of a mistake":  {[]string{"typo"}, "x.yaml:4:12: deployItems[0].config.manifets: the key is unknown; did you mean manifests?"},
		"a name that leads elsewhere": {[]string{"up", "-w", "out"}, "its name is not a valid label value"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, p.fail(append([]string{"blueprint", "render"}, test.args...)...), test.want)
		})
	}
}

// A sub-installation may be a folder of the artifact: by default the Git repository around the blueprint, else the directory above it.
func TestSubinstallationsInFoldersOfTheArtifact(t *testing.T) {
	p := start(t)
	const sub = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nsubinstallations:\n- {name: db, blueprint: {path: %s}}\n"
	const item = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\ndeployExecutions:\n- {name: default, type: GoTemplate, template: 'deployItems: [{name: item, type: x, config: {}}]'}\n"
	p.write("repo/.git/HEAD", "", "repo/blueprints/shop/blueprint.yaml", fmt.Sprintf(sub, "../../data/db"), "repo/data/db/blueprint.yaml", item,
		"plain/shop/blueprint.yaml", fmt.Sprintf(sub, "../db"), "plain/db/blueprint.yaml", item,
		"plain/out/blueprint.yaml", fmt.Sprintf(sub, "../../repo/data/db"), "exports.yaml", "{}")
	for _, dir := range []string{"repo/blueprints/shop", "plain/shop"} {
		p.must("blueprint", "validate", dir)
		assert.Contains(t, p.must("blueprint", "render", dir, "-e", "exports.yaml"), "# root/db/deployitems/item")
	}
	assert.Contains(t, p.fail("blueprint", "validate", "plain/out"), "leads out of the artifact")
	assert.Contains(t, p.fail("blueprint", "render", "plain/out", "-e", "exports.yaml"), "leads out of the artifact")
	p.must("blueprint", "validate", "plain/out", "--artifact", ".")
	assert.Contains(t, p.fail("blueprint", "validate", "plain/out", "--artifact", "repo"), "does not lie in repo")
	assert.Contains(t, p.fail("blueprint", "push", "oci://localhost:1/x:1", "-f", "plain/shop", "--source", "x", "--revision", "x"), "leads out of the artifact")
}
