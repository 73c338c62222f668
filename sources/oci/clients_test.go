// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func credentials(t testing.TB, logins map[string]string) Credentials {
	c, err := ParseDockerConfig(dockerConfig(logins))
	require.NoError(t, err)
	return c
}

// pulled is a layer with what was said of its manifest.
type pulled struct {
	Digest, ManifestDigest digest.Digest
	Bytes                  []byte
	Stale                  bool
}

// Pull returns the first layer of one of some types, or of any.
func (c *Client) Pull(ctx context.Context, ref string, o PullOptions, types ...string) (*pulled, error) {
	m, err := c.ManifestFor(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	layer, err := m.Layer(types...)
	if err != nil {
		return nil, err
	}
	raw, err := m.Blob(ctx, layer.Digest, 0)
	return &pulled{layer.Digest, m.Digest, raw, m.Stale}, err
}

// PullContent returns the first layer, of any size.
func (c *Client) PullContent(ctx context.Context, ref string, o PullOptions) (*Content, error) {
	m, err := c.ManifestFor(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	layer, err := m.Layer()
	if err != nil {
		return nil, err
	}
	return m.Open(ctx, layer.Digest, 0)
}
