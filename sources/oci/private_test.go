// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestM05PrivateRegistriesAreRefusedWhereTheOperatorWants(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	_, err := newClient(t, nil).Pull(t.Context(), ref, PullOptions{})
	require.NoError(t, err, "private addresses are open by default")
	_, err = newClient(t, func(o *Options) { o.PublicOnly = true }).Pull(t.Context(), ref, PullOptions{})
	require.ErrorIs(t, err, ErrInvalid, "another try would find the same")
	assert.ErrorContains(t, err, egress.ErrPrivate.Error())
	assert.ErrorContains(t, err, "use a registry at a public address")
}

func TestNamesOfAPrivateNetworkAreNotToldApart(t *testing.T) {
	client := newClient(t, func(o *Options) { o.PublicOnly = true })
	told := func(host string) string {
		_, err := client.Pull(t.Context(), "http://"+host+"/shop:1.0.0", PullOptions{})
		require.NotErrorIs(t, err, ErrInvalid, "another try may find another host")
		return strings.ReplaceAll(err.Error(), host, "<host>")
	}
	assert.Equal(t, told("localhost:5000"), told("nobody.invalid:5000"))
}

func TestM05MetadataServicesAreNoRegistries(t *testing.T) {
	for _, host := range []string{"169.254.169.254", "168.63.129.16"} {
		_, err := newClient(t, nil).Pull(t.Context(), "http://"+host+"/shop:1.0.0", PullOptions{})
		require.ErrorIs(t, err, ErrInvalid)
		assert.ErrorContains(t, err, egress.ErrPrivate.Error())
	}
}
