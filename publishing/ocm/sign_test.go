// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// signer returns how to sign as "release", and the public key.
func signer(t *testing.T) (component.SignOptions, component.Keys) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	return component.SignOptions{Name: "release", Key: key},
		component.Keys{PublicKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})}
}

const (
	shopOverDB = `
name: example.com/shop
version: 1.0.0
provider: {name: me}
componentReferences: [{name: db, componentName: example.com/db, version: 1.0.0}]
resources: [{name: file, type: blob, input: {type: utf8, text: shop}}]
`
	onlyDB = `---
name: example.com/db
version: 1.0.0
provider: {name: me}
resources: [{name: file, type: blob, input: {type: utf8, text: db}}]
`
)

func verify(t *testing.T, r publishing.Registry, p *Place, name string, keys component.Keys) error {
	t.Helper()
	reader, err := NewReader(r, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	_, err = reader.Verify(t.Context(), component.Key{Name: name, Version: "1.0.0"}, "release", keys)
	return err
}

func TestSignCoversWhatIsMadeTogether(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	r, p := client(t), place(t, "http://"+server.Host+"/components")
	options, keys := signer(t)
	versions := build(t, p, shopOverDB+onlyDB)
	require.NoError(t, Sign(t.Context(), r, p, versions, options))
	pushAll(t, r, p, versions)
	require.NoError(t, verify(t, r, p, "example.com/shop", keys))
	require.NoError(t, verify(t, r, p, "example.com/db", keys))
	_, others := signer(t)
	assert.ErrorContains(t, verify(t, r, p, "example.com/shop", others), "it was not made with the key that is trusted")
}

func TestSignCoversWhatIsPublished(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	r, p := client(t), place(t, "http://"+server.Host+"/components")
	pushAll(t, r, p, build(t, p, onlyDB))
	options, keys := signer(t)
	versions := build(t, p, shopOverDB)
	require.NoError(t, Sign(t.Context(), r, p, versions, options))
	pushAll(t, r, p, versions)
	assert.NoError(t, verify(t, r, p, "example.com/shop", keys))
}

func TestSignNeedsAllThatIsCovered(t *testing.T) {
	options, _ := signer(t)
	versions := build(t, nil, shopOverDB)
	before := *versions[0].Descriptor
	err := Sign(t.Context(), publishing.Registry{}, nil, versions, options)
	assert.ErrorIs(t, err, component.ErrNotFound)
	assert.ErrorContains(t, err, "component example.com/db:1.0.0")
	assert.ErrorContains(t, err, "make it in the same constructor")
	assert.Equal(t, before, *versions[0].Descriptor)
}
