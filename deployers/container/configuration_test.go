// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestFewProblemsOfAConfigurationAreNamed(t *testing.T) {
	config := &containerv1alpha1.ProviderConfiguration{RegistryPullSecrets: make([]v1alpha1.ObjectReference, 10*fault.MostProblems)}
	err := validate(config, "tenant")
	require.ErrorContains(t, err, "there are more problems than these")
	assert.Equal(t, fault.MostProblems, strings.Count(err.Error(), "\n"))
}
