// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func newClient(t testing.TB, change func(*Options)) *Client {
	var o Options
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func layer(mediaType, content string) registry.Layer {
	return registry.Layer{MediaType: mediaType, Content: content}
}

// dockerConfig is a configuration of host → user:password.
func dockerConfig(logins map[string]string) []byte {
	auths := map[string]any{}
	for host, l := range logins {
		auths[host] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(l))}
	}
	raw, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		panic(err)
	}
	return raw
}

func credentials(t testing.TB, logins map[string]string) keychain.Credentials {
	c, err := keychain.ParseDockerConfig(dockerConfig(logins))
	require.NoError(t, err)
	return c
}
