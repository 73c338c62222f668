// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// TestFewProblemsOfAnObjectAreNamed has objects with many problems in each list and map whose length a tenant decides.
func TestFewProblemsOfAnObjectAreNamed(t *testing.T) {
	const many = 10 * maxProblems
	keys := map[string]string{}
	for i := range many {
		keys[fmt.Sprintf("-%d", i)] = ""
	}
	for name, problems := range map[string]func() field.ErrorList{
		"data imports":   problemsOf(func(s *v1alpha1.InstallationSpec) { s.Imports.Data = make([]v1alpha1.DataImport, many) }),
		"target imports": problemsOf(func(s *v1alpha1.InstallationSpec) { s.Imports.Targets = make([]v1alpha1.TargetImport, many) }),
		"targets of an import": problemsOf(func(s *v1alpha1.InstallationSpec) {
			s.Imports.Targets = []v1alpha1.TargetImport{{Name: "a", Targets: make([]string, many)}}
		}),
		"a map of Targets": problemsOf(func(s *v1alpha1.InstallationSpec) {
			s.Imports.Targets = []v1alpha1.TargetImport{{Name: "a", TargetMap: keys}}
		}),
		"data exports":   problemsOf(func(s *v1alpha1.InstallationSpec) { s.Exports.Data = make([]v1alpha1.DataExport, many) }),
		"target exports": problemsOf(func(s *v1alpha1.InstallationSpec) { s.Exports.Targets = make([]v1alpha1.TargetExport, many) }),
		"templates":      func() field.ErrorList { return DeployItemTemplates(make([]v1alpha1.DeployItemTemplate, many)) },
		"dependencies": func() field.ErrorList {
			return DeployItemTemplates([]v1alpha1.DeployItemTemplate{{Name: "a", Type: "b", DependsOn: make([]string, many)}})
		},
		"labels": func() field.ErrorList {
			return DeployItemTemplates([]v1alpha1.DeployItemTemplate{{Name: "a", Type: "b", Labels: keys}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := problems()
			assert.Len(t, found, maxProblems+1)
			assert.Contains(t, found[len(found)-1].Error(), "there are more problems than these")
		})
	}
}

func problemsOf(change func(spec *v1alpha1.InstallationSpec)) func() field.ErrorList {
	return func() field.ErrorList {
		inst := &v1alpha1.Installation{}
		change(&inst.Spec)
		return Installation(inst)
	}
}

func TestAProblemShowsTheBeginningOfALongValue(t *testing.T) {
	huge := strings.Repeat("-", 1<<20)
	for name, problems := range map[string]field.ErrorList{
		"name of an import": problemsOf(func(s *v1alpha1.InstallationSpec) {
			s.Imports.Data = []v1alpha1.DataImport{{Name: huge, DataRef: "a"}, {Name: huge, DataRef: "a"}}
		})(),
		"key of a Target": problemsOf(func(s *v1alpha1.InstallationSpec) {
			s.Imports.Targets = []v1alpha1.TargetImport{{Name: "a", TargetMap: map[string]string{huge: "a"}}}
		})(),
		"ServiceAccount":     Target(&v1alpha1.Target{Spec: v1alpha1.TargetSpec{ServiceAccountName: huge}}),
		"account of an item": DeployItem(&v1alpha1.DeployItem{Spec: v1alpha1.DeployItemSpec{Type: "a", ServiceAccountName: huge}}),
		"dependency":         DeployItemTemplates([]v1alpha1.DeployItemTemplate{{Name: "a", Type: "b", DependsOn: []string{huge}}}),
		"label":              DeployItemTemplates([]v1alpha1.DeployItemTemplate{{Name: "a", Type: "b", Labels: map[string]string{huge: ""}}}),
	} {
		t.Run(name, func(t *testing.T) {
			assert.NotEmpty(t, problems)
			assert.Less(t, len(problems.ToAggregate().Error()), 5000)
		})
	}
}
