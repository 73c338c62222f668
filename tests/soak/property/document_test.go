// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// object and list are JSON.
type (
	object = map[string]any
	list   = []any
)

const (
	// exportName is the one export of every blueprint.
	exportName = "out"
	// targetName is the one Target, and the import of it by every blueprint that deploys something.
	targetName = "cluster"
	// failure is what broken templates say.
	failure = "this template fails"
)

// blueprint writes blueprint.yaml of a node, with those of all below it inside.
func (n *node) blueprint() string {
	imports := list{}
	for k := range n.refs {
		imports = append(imports, object{"name": importName(k), "schema": object{"type": "string"}})
	}
	if n.deploys() {
		imports = append(imports, object{"name": targetName, "type": "target", "targetType": v1alpha1.KubernetesClusterTargetType})
	}
	parts := object{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Blueprint", "imports": imports}
	if len(n.items) > 0 {
		parts["deployExecutions"] = goTemplate(n.itemTemplates())
	}
	if len(n.subs) > 0 {
		parts["subinstallations"] = n.subTemplates()
	}
	if !n.silent {
		parts["exports"] = list{object{"name": exportName, "schema": object{"type": "string"}}}
		parts["exportExecutions"] = goTemplate(n.exportTemplate())
	}
	if n.broken == exportExecution && !n.silent {
		parts[string(exportExecution)] = goTemplate(fmt.Sprintf("{{ fail %q }}", failure))
	} else if n.broken != "" {
		parts[string(deployExecution)] = goTemplate(fmt.Sprintf("{{ fail %q }}", failure))
	}
	return document(parts)
}

func document(parts any) string {
	raw, err := yaml.Marshal(parts)
	if err != nil {
		panic(err) // maps of strings can be written
	}
	return string(raw)
}

func goTemplate(text string) list {
	return list{object{"name": "default", "type": "GoTemplate", "template": text}}
}

// digestOf is the action that computes digest over terms of the template language.
func digestOf(terms []string) string {
	return fmt.Sprintf(`{{ list %s | join "," | sha256sum | trunc 12 | printf "v%%s" }}`, strings.Join(terms, " "))
}

func (n *node) importTerms(salt int) []string {
	terms := []string{strconv.Quote(strconv.Itoa(salt))}
	for k := range n.refs {
		terms = append(terms, ".imports."+importName(k))
	}
	return terms
}

func (n *node) itemTemplates() string {
	items := list{}
	for _, it := range n.items {
		one := it.template(digestOf(n.importTerms(it.salt)))
		if len(it.after) > 0 {
			one["dependsOn"] = it.after
		}
		items = append(items, one)
	}
	return document(object{"deployItems": items})
}

// template of an item that exports a value.
func (it *item) template(value string) object {
	if !it.isMock() {
		return object{"name": it.name, "type": v1alpha1.ManifestDeployItemType, "target": object{"import": targetName}, "config": it.manifests(value)}
	}
	config := object{
		"apiVersion": "mock.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
		"export": object{exportName: value},
	}
	if it.phase != "" {
		config["phase"] = it.phase
	}
	return object{"name": it.name, "type": v1alpha1.MockDeployItemType, "config": config}
}

// manifests configure an item that deploys a ConfigMap of its name with a value.
func (it *item) manifests(value string) object {
	deployed := object{"apiVersion": "v1", "kind": "ConfigMap", "name": it.name, "namespace": it.namespace}
	manifest := object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": it.name, "namespace": it.namespace}, "data": object{"value": value},
	}
	return object{
		"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration", "updateStrategy": "update",
		"manifests": list{object{"policy": "manage", "manifest": manifest}},
		"exports":   object{"exports": list{object{"key": exportName, "jsonPath": ".data.value", "fromResource": deployed}}},
	}
}

func (n *node) exportTemplate() string {
	terms := n.importTerms(n.salt)
	for _, it := range n.items {
		if !it.unused {
			terms = append(terms, fmt.Sprintf("(index .deployitems %q %q)", it.name, exportName))
		}
	}
	for _, sub := range n.subs {
		if sub.counts() {
			terms = append(terms, fmt.Sprintf("(index .dataobjects %q)", sub.name))
		}
	}
	return document(object{"exports": object{exportName: digestOf(terms)}})
}

func (n *node) subTemplates() list {
	templates := list{}
	for _, sub := range n.subs {
		template := object{
			"name": sub.name, "imports": sub.imports(),
			"blueprint": object{"filesystem": object{"blueprint.yaml": sub.blueprint()}},
		}
		if !sub.silent {
			template["exports"] = sub.dataExports()
		}
		templates = append(templates, template)
	}
	return templates
}

func (n *node) imports() object {
	data := list{}
	for k, ref := range n.refs {
		data = append(data, object{"name": importName(k), "dataRef": ref})
	}
	if !n.deploys() {
		return object{"data": data}
	}
	return object{"data": data, "targets": list{object{"name": targetName, "target": targetName}}}
}

// dataExports connects the export with the name of the node.
func (n *node) dataExports() object {
	return object{"data": list{object{"name": exportName, "dataRef": n.name}}}
}

// spec of a root.
func (n *node) spec() object {
	return object{
		"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": n.blueprint()}}},
		"imports":   n.imports(), "exports": n.dataExports(),
	}
}
