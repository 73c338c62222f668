// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// signingKey returns a private key in PEM.
func signingKey(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// together lets so many requests go on once all of them are there, and later ones at once.
func together(requests int) registry.Fault {
	var mu sync.Mutex
	all, seen := make(chan struct{}), 0
	return func(_ *registry.Registry, _ http.ResponseWriter, request *http.Request) bool {
		mu.Lock()
		if seen++; seen == requests {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
		case <-request.Context().Done():
		}
		return false
	}
}

// TestSignaturesOfTheSameMomentAreKept lets signers read what is there before any of them writes.
func TestSignaturesOfTheSameMomentAreKept(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	digest := v1.Hash{Algorithm: "sha256", Hex: "0000000000000000000000000000000000000000000000000000000000000001"}
	const signers = 3
	server.Break(registry.On(http.MethodGet, "manifests", together(signers)))
	var all sync.WaitGroup
	for range signers {
		key := signingKey(t)
		all.Go(func() {
			assert.NoError(t, Sign(t.Context(), server.Host+"/release", digest, key, true))
		})
	}
	all.Wait()

	tag, err := name.NewTag(server.Host+"/release:"+digest.Algorithm+"-"+digest.Hex+".sig", name.Insecure)
	require.NoError(t, err)
	signatures, err := remote.Image(tag, remote.WithContext(t.Context()))
	require.NoError(t, err)
	manifest, err := signatures.Manifest()
	require.NoError(t, err)
	assert.Len(t, manifest.Layers, signers)
}

// TestASignatureThatIsAlwaysReplacedIsAnError has a registry that keeps no manifest.
func TestASignatureThatIsAlwaysReplacedIsAnError(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	server.Break(registry.On(http.MethodGet, "manifests", registry.Status(http.StatusNotFound, 0)))
	err := Sign(t.Context(), server.Host+"/release", v1.Hash{Algorithm: "sha256", Hex: "01"}, signingKey(t), true)
	require.ErrorContains(t, err, "does not stay: others sign at the same time")
	assert.Equal(t, signings, server.Count(http.MethodPut, "manifests"))
}
