// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// SecurityPage has the table of those who reach everything.
const SecurityPage = "docs/security.md"

// Holder is a ServiceAccount whose rights are worth those of an administrator.
type Holder struct {
	// Account is its name.
	Account string
	// With is what has to be installed.
	With string
	// Ways are how it gets everything.
	Ways []string
}

// installations are what people install, by the name in the table: resources of flux/, and components of flux/install.
var installations = []struct {
	name       string
	resources  []string
	components []string
}{
	{"`flux/install`", []string{"install"}, nil},
	{"`flux/webhooks`", []string{"install", "webhooks"}, nil},
	{"`flux/ui`", []string{"install", "ui"}, nil},
	{"`flux/container-deployer`", []string{"install", "container-deployer"}, nil},
	{"`flux/install/registry-identities`", []string{"install"}, []string{"install/registry-identities"}},
	{"`flux/install/target-tokens`", []string{"install"}, []string{"install/target-tokens"}},
	{"`flux/install/deployer-management`", []string{"install"}, []string{"install/deployer-management"}},
	{"`flux/install/shared-environments`", []string{"install"}, []string{"install/deployer-management", "install/shared-environments"}},
}

// ways lead from one rule that holds in every namespace to all rights of the cluster.
var ways = []struct {
	resources, verbs []string
	meaning          string
}{
	{[]string{"secrets"}, []string{"get", "list", "watch"}, "reads every Secret, tokens and kubeconfigs among them"},
	{[]string{"secrets"}, []string{"create", "update", "patch"}, "writes every Secret, so that the cluster puts the token of any ServiceAccount into one"},
	{[]string{"serviceaccounts/token"}, []string{"create"}, "requests tokens of every ServiceAccount"},
	{[]string{"roles", "clusterroles"}, []string{"bind", "escalate"}, "grants any right"},
	{[]string{"users", "groups", "serviceaccounts"}, []string{"impersonate"}, "acts as anybody"},
	{[]string{"pods", "deployments", "daemonsets", "statefulsets", "replicasets", "jobs", "cronjobs", "replicationcontrollers"},
		[]string{"create", "update", "patch"}, "runs Pods as any ServiceAccount"},
	{[]string{"pods/exec", "pods/attach", "pods/ephemeralcontainers", "nodes/proxy"}, []string{"create", "get", "update", "patch"}, "runs commands in any Pod"},
	{[]string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, []string{"create", "update", "patch"},
		"registers webhooks, which see what anybody writes"},
	{[]string{"certificatesigningrequests/approval", "signers"}, []string{"update", "patch", "approve", "sign"}, "issues certificates for anybody"},
}

// Holders returns who reaches everything, installation by installation; whom an earlier one has in the same way is left out.
func Holders(module *Module) ([]Holder, error) {
	var found []Holder
	known := map[string]bool{}
	for _, one := range installations {
		rules, err := clusterRules(module, one.resources, one.components)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		for _, account := range slices.Sorted(maps.Keys(rules)) {
			holder := Holder{Account: account, With: one.name}
			for _, way := range waysOf(rules[account]) {
				if key := account + "\x00" + way; !known[key] {
					known[key], holder.Ways = true, append(holder.Ways, way)
				}
			}
			if len(holder.Ways) > 0 {
				found = append(found, holder)
			}
		}
	}
	return found, nil
}

// waysOf returns how rules that hold everywhere lead to everything. A rule that names its objects leads to these alone.
func waysOf(rules []rbacv1.PolicyRule) []string {
	var found []string
	for _, way := range ways {
		if slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return len(rule.ResourceNames) == 0 && meet(rule.Resources, way.resources) && meet(rule.Verbs, way.verbs)
		}) {
			found = append(found, way.meaning)
		}
	}
	return found
}

func meet(given, wanted []string) bool {
	return slices.ContainsFunc(given, func(one string) bool { return one == "*" || slices.Contains(wanted, one) })
}

// clusterRules returns by ServiceAccount what ClusterRoleBindings give.
func clusterRules(module *Module, resources, components []string) (map[string][]rbacv1.PolicyRule, error) {
	roles, bindings := map[string][]rbacv1.PolicyRule{}, []rbacv1.ClusterRoleBinding{}
	objects, err := render(module, resources, components)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		convert := runtime.DefaultUnstructuredConverter.FromUnstructured
		switch object["kind"] {
		case "ClusterRole":
			role := rbacv1.ClusterRole{}
			if err := convert(object, &role); err != nil {
				return nil, err
			}
			roles[role.Name] = role.Rules
		case "ClusterRoleBinding":
			binding := rbacv1.ClusterRoleBinding{}
			if err := convert(object, &binding); err != nil {
				return nil, err
			}
			bindings = append(bindings, binding)
		}
	}
	rules := map[string][]rbacv1.PolicyRule{}
	for _, binding := range bindings {
		given, known := roles[binding.RoleRef.Name]
		if !known {
			return nil, fmt.Errorf("ClusterRoleBinding %s binds %s, which is not among the manifests", binding.Name, binding.RoleRef.Name)
		}
		for _, subject := range binding.Subjects {
			rules[subject.Name] = append(rules[subject.Name], given...)
		}
	}
	return rules, nil
}

// render builds folders of flux/ with components.
func render(module *Module, resources, components []string) ([]map[string]any, error) {
	folder, err := os.MkdirTemp("", "rights-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	flux, err := filepath.Rel(folder, module.Path("flux"))
	if err != nil {
		return nil, err
	}
	list := func(field string, names []string) string {
		text := field + ":\n"
		for _, name := range names {
			text += "- " + flux + "/" + name + "\n"
		}
		return text
	}
	text := list("resources", resources)
	if len(components) > 0 {
		text += list("components", components)
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	for _, resource := range built.Resources() {
		object, err := resource.Map()
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// RenderSecurity returns SecurityPage with a fresh table.
func RenderSecurity(module *Module, holders []Holder) (string, error) {
	var table strings.Builder
	table.WriteString("| Who | Installed by | How |\n|---|---|---|\n")
	for _, holder := range holders {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", holder.Account, holder.With, strings.Join(holder.Ways, "; "))
	}
	content, err := os.ReadFile(module.Path(SecurityPage))
	return replaceGenerated(SecurityPage, string(content), table.String(), err)
}
