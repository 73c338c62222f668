// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// DeployItemTemplates returns everything that is wrong with the templates of an Execution, except for cycles.
func DeployItemTemplates(templates []v1alpha1.DeployItemTemplate) field.ErrorList {
	var problems field.ErrorList
	path := field.NewPath("spec", "deployItems")
	names := map[string]bool{}
	for i := range templates {
		names[templates[i].Name] = true
	}
	seen := map[string]bool{}
	for i := range templates {
		at := path.Index(i)
		problems = append(problems, named(at.Child("name"), templates[i].Name, seen)...)
		problems = append(problems, template(&templates[i], names, at)...)
	}
	return problems
}

func template(t *v1alpha1.DeployItemTemplate, names map[string]bool, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if t.Type == "" {
		problems = append(problems, field.Required(path.Child("type"), "name the type, for example "+v1alpha1.HelmDeployItemType))
	}
	if t.Target != nil && t.Target.Name == "" {
		problems = append(problems, field.Required(path.Child("target", "name"), "name the Target"))
	}
	for i, name := range t.DependsOn {
		if !names[name] {
			problems = append(problems, field.Invalid(path.Child("dependsOn").Index(i), name, "depends on undefined deploy item"))
		}
	}
	return append(problems, metav1.ValidateLabels(t.Labels, path.Child("labels"))...)
}
