// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEnabled(t *testing.T) {
	for name, c := range map[string]struct {
		disabled []string
		left     []string
	}{
		"none":     {nil, []string{"installations", "deployitems", "executions", "targets"}},
		"plural":   {[]string{"installations", "targets"}, []string{"deployitems", "executions"}},
		"singular": {[]string{"installation", " DeployItem"}, []string{"executions", "targets"}},
		"twice":    {[]string{"targets", "target"}, []string{"installations", "deployitems", "executions"}},
		"all":      {[]string{"all"}, nil},
		"and all":  {[]string{"targets", "all"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			enabled, err := Enabled(c.disabled)
			require.NoError(t, err)
			var left []string
			for _, kind := range enabled {
				left = append(left, kind.plural)
			}
			assert.Equal(t, c.left, left)
		})
	}
	_, err := Enabled([]string{"context"})
	assert.ErrorContains(t, err, "installations, deployitems, executions, targets or all")
}

func TestEndpoints(t *testing.T) {
	service, err := ParseEndpoint("ls-system/landscaper-webhooks", 9443, "")
	require.NoError(t, err)
	assert.Equal(t, []string{"landscaper-webhooks.ls-system.svc"}, service.hosts())
	assert.Equal(t, "ls-system", service.Namespace())
	called := service.client("/validate/targets", nil)
	assert.Equal(t, "/validate/targets", *called.Service.Path)
	assert.Equal(t, int32(9443), *called.Service.Port)

	for address, wanted := range map[string]struct{ host, url string }{
		"https://127.0.0.1:9443":       {"127.0.0.1", "https://127.0.0.1:9443/validate/targets"},
		"https://example.com":          {"example.com", "https://example.com/validate/targets"},
		"https://example.com/webhooks": {"example.com", "https://example.com/webhooks/validate/targets"},
		"https://[::1]:9443/":          {"::1", "https://[::1]:9443/validate/targets"},
	} {
		endpoint, err := ParseEndpoint("", 9443, address)
		require.NoError(t, err)
		assert.Equal(t, []string{wanted.host}, endpoint.hosts())
		assert.Equal(t, wanted.url, *endpoint.client("/validate/targets", nil).URL)
		assert.Empty(t, endpoint.Namespace())
	}
}

func TestEndpointsThatNobodyCanCall(t *testing.T) {
	for name, c := range map[string]struct {
		service string
		port    int32
		url     string
		says    string
	}{
		"none":                {"", 9443, "", "--webhook-service or --webhook-url"},
		"both":                {"a/b", 9443, "https://a", "not both"},
		"no namespace":        {"b", 9443, "", "namespace/name"},
		"no name":             {"a/", 9443, "", "namespace/name"},
		"port":                {"a/b", 0, "", "--webhook-service-port"},
		"not https":           {"", 9443, "http://a", "https://host"},
		"no host":             {"", 9443, "https://:9443", "https://host"},
		"with a password":     {"", 9443, "https://a:b@c", "https://host"},
		"with a query string": {"", 9443, "https://a?b=c", "https://host"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseEndpoint(c.service, c.port, c.url)
			assert.ErrorContains(t, err, c.says)
		})
	}
}
