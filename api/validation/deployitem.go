// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// DeployItem returns everything that is wrong with a DeployItem.
func DeployItem(item *v1alpha1.DeployItem) field.ErrorList {
	spec := field.NewPath("spec")
	problems := itemType(item.Spec.Type, spec.Child("type"))
	if item.Spec.Target != nil && item.Spec.Target.Name == "" {
		problems = append(problems, unnamedTarget(spec.Child("target", "name")))
	}
	return told(append(problems, serviceAccount(item.Spec.ServiceAccountName, spec.Child("serviceAccountName"))...))
}

// DeployItemUpdate returns what is wrong with the change of a DeployItem: another deployer could not remove what the first one made.
func DeployItemUpdate(item, old *v1alpha1.DeployItem) field.ErrorList {
	if old.Spec.Type == "" || item.Spec.Type == old.Spec.Type {
		return nil
	}
	if by := old.Status.Deployer; by != nil && by.Type == item.Spec.Type {
		return nil // it was changed past the webhooks, and is set back
	}
	// Flux deletes and recreates, when told to force, what is called immutable.
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "type"),
		"the type of a DeployItem stays "+old.Spec.Type+"; delete it and make another one")}
}

// DeployItemTemplates returns what is wrong with the templates of an Execution, except for cycles. Beyond maxProblems it looks no further: a small
// object may have millions of mistakes, each of which takes more memory than the object.
func DeployItemTemplates(templates []v1alpha1.DeployItemTemplate) field.ErrorList {
	path := field.NewPath("spec", "deployItems")
	names := map[string]bool{}
	for i := range templates {
		names[templates[i].Name] = true
	}
	seen := map[string]bool{}
	return told(fault.ProblemsIn(len(templates), func(i int) []*field.Error {
		at := path.Index(i)
		return append(named(at.Child("name"), templates[i].Name, seen), template(&templates[i], names, at)...)
	}))
}

func template(t *v1alpha1.DeployItemTemplate, names map[string]bool, path *field.Path) field.ErrorList {
	problems := itemType(t.Type, path.Child("type"))
	if t.Target != nil && t.Target.Name == "" {
		problems = append(problems, unnamedTarget(path.Child("target", "name")))
	}
	problems = append(problems, fault.ProblemsIn(len(t.DependsOn), func(i int) []*field.Error {
		if names[t.DependsOn[i]] {
			return nil
		}
		return field.ErrorList{field.Invalid(path.Child("dependsOn").Index(i), t.DependsOn[i], "depends on undefined deploy item")}
	})...)
	problems = append(problems, serviceAccount(t.ServiceAccountName, path.Child("serviceAccountName"))...)
	return append(problems, labels(t.Labels, path.Child("labels"))...)
}

func labels(labels map[string]string, path *field.Path) field.ErrorList {
	return fault.ProblemsInMap(labels, func(key, value string) []*field.Error {
		return metav1.ValidateLabels(map[string]string{key: value}, path)
	})
}

func itemType(name string, path *field.Path) field.ErrorList {
	if name != "" {
		return nil
	}
	return field.ErrorList{field.Required(path, "name the type, for example "+v1alpha1.HelmDeployItemType)}
}

func unnamedTarget(path *field.Path) *field.Error { return field.Required(path, "name the Target") }

// DependencyCycle describes a cycle in the dependencies of templates, with "" when there is none.
func DependencyCycle(templates []v1alpha1.DeployItemTemplate) string {
	nodes := map[string][]string{}
	for i := range templates {
		nodes[templates[i].Name] = templates[i].DependsOn
	}
	cycle := Cycle(nodes)
	if cycle == nil {
		return ""
	}
	return "cycle found in dependencies: " + strings.Join(cycle, " -{depends_on}-> ")
}

// Target returns everything that is wrong with a Target. A Target without content is a marker, and fine. No message shows content.
func Target(target *v1alpha1.Target) field.ErrorList {
	spec := field.NewPath("spec")
	problems := serviceAccount(target.Spec.ServiceAccountName, spec.Child("serviceAccountName"))
	if target.Spec.Configuration != nil && target.Spec.SecretRef != nil {
		problems = append(problems, field.Forbidden(spec, "give either config or secretRef, not both"))
	}
	return told(problems)
}

// IsServiceAccountName reports whether a text is the name of a ServiceAccount: without a namespace, because only those of the own one are used.
func IsServiceAccountName(name string) bool {
	return len(validation.ValidateServiceAccountName(name, false)) == 0
}

// serviceAccount returns what is wrong with the name of a ServiceAccount; it may be left out.
func serviceAccount(name string, path *field.Path) field.ErrorList {
	if name == "" || IsServiceAccountName(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "is not a valid name of a ServiceAccount; give the name alone: it is one of the same namespace")}
}

// Cycle returns the names along one cycle, with the first name repeated at the end, or nil when there is none. Nodes maps a name to
// the names it depends on; names that are no nodes count as without dependencies. The result is the same for the same input.
func Cycle(nodes map[string][]string) []string {
	const open, closed = 1, 2
	state, way := map[string]int{}, []string(nil)
	var from func(name string) []string
	from = func(name string) []string {
		switch state[name] {
		case open:
			return append(slices.Clone(way[slices.Index(way, name):]), name)
		case closed:
			return nil
		}
		state[name], way = open, append(way, name)
		for _, next := range nodes[name] {
			if cycle := from(next); cycle != nil {
				return cycle
			}
		}
		state[name], way = closed, way[:len(way)-1]
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if cycle := from(name); cycle != nil {
			return cycle
		}
	}
	return nil
}
