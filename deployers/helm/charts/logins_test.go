// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

func TestEachPullSecretIsParsedOnce(t *testing.T) {
	c := &contract.Context{PullSecrets: map[string]map[string][]byte{
		"pull": {".dockerconfigjson": []byte(`{"auths":{"r.example":{"username":"u","password":"p"}}}`)},
	}}
	c.Configuration.RegistryPullSecrets = slices.Repeat([]v1alpha1.LocalObjectReference{{Name: "pull"}}, 1000)
	found, err := pullCredentials(c)
	require.NoError(t, err)
	c.Configuration.RegistryPullSecrets = c.Configuration.RegistryPullSecrets[:1]
	once, err := pullCredentials(c)
	require.NoError(t, err)
	assert.True(t, reflect.DeepEqual(once, found))
}
