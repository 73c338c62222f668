// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

func TestFewProblemsOfAConfigurationAreNamed(t *testing.T) {
	err := v1alpha2.Validate(&v1alpha2.ProviderConfiguration{Manifests: make([]managedresource.Manifest, 10*fault.MostProblems)})
	require.ErrorContains(t, err, "there are more problems than these")
	assert.Equal(t, fault.MostProblems, strings.Count(err.Error(), "\n"))
}
