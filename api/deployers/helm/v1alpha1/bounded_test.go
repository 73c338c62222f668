// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

func TestFewProblemsOfAConfigurationAreNamed(t *testing.T) {
	const many = 10 * fault.MostProblems
	keys := map[string]string{}
	for i := range many {
		keys[fmt.Sprintf("-%d", i)] = ""
	}
	for name, config := range map[string]v1alpha1.ProviderConfiguration{
		"filters of tests": {Test: &v1alpha1.Test{Filters: make([]v1alpha1.TestFilter, many)}},
		"labels":           {CommonMetadata: &v1alpha1.CommonMetadata{Labels: keys}},
		"annotations":      {CommonMetadata: &v1alpha1.CommonMetadata{Annotations: keys}},
		"exports":          {ExportsFromManifests: make([]managedresource.Export, many)},
	} {
		t.Run(name, func(t *testing.T) {
			err := v1alpha1.Validate(&config)
			require.ErrorContains(t, err, "there are more problems than these")
			assert.Equal(t, fault.MostProblems, strings.Count(err.Error(), "\n"))
		})
	}
}

func TestFiltersOfTestsAreFew(t *testing.T) {
	for count, isRefused := range map[int]bool{v1alpha1.MaxTestFilters: false, v1alpha1.MaxTestFilters + 1: true} {
		filters := make([]v1alpha1.TestFilter, count)
		for i := range filters {
			filters[i].Name = "a"
		}

		err := v1alpha1.Validate(&v1alpha1.ProviderConfiguration{Test: &v1alpha1.Test{Filters: filters}})

		const problem = "test.filters: has 101 entries, more than 100; name only the tests to run, or only those to leave out"
		assert.Equal(t, isRefused, strings.Contains(err.Error(), problem), "%v", err)
	}
}
