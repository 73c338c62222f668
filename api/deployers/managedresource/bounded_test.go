// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// TestFewProblemsOfAListAreLookedFor has many empty entries in each list whose length the author of a configuration decides.
func TestFewProblemsOfAListAreLookedFor(t *testing.T) {
	const many = 10 * fault.MostProblems
	checks := func(checks ...managedresource.CustomReadinessCheckConfiguration) []error {
		return managedresource.ValidateReadiness("r", &managedresource.ReadinessCheckConfiguration{CustomReadinessChecks: checks})
	}
	for name, problems := range map[string]func() []error{
		"readiness checks": func() []error { return checks(make([]managedresource.CustomReadinessCheckConfiguration, many)...) },
		"objects of a check": func() []error {
			return checks(managedresource.CustomReadinessCheckConfiguration{Resources: make([]v1alpha1.TypedObjectReference, many)})
		},
		"requirements": func() []error {
			return checks(managedresource.CustomReadinessCheckConfiguration{Requirements: make([]managedresource.RequirementSpec, many)})
		},
		"exports": func() []error {
			return managedresource.ValidateExports("e", &managedresource.Exports{Exports: make([]managedresource.Export, many)})
		},
		"deletion groups": func() []error {
			return managedresource.ValidateDeletionGroups("g", make([]managedresource.DeletionGroupDefinition, many))
		},
		"kinds of a deletion group": func() []error {
			return managedresource.ValidateDeletionGroups("g", []managedresource.DeletionGroupDefinition{{
				CustomResourceGroup: &managedresource.CustomResourceGroup{Resources: make([]managedresource.ResourceType, many)},
			}})
		},
		"rules of drift": func() []error {
			rules := make([]managedresource.IgnoreRule, fault.MostProblems)
			for i := range rules {
				rules[i].Paths = make([]string, fault.MostProblems)
			}
			return managedresource.ValidateDriftDetection("d", &managedresource.DriftDetection{Ignore: rules})
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := problems()
			assert.Greater(t, len(found), fault.MostProblems)
			assert.Less(t, len(found), 3*fault.MostProblems)
		})
	}
}
