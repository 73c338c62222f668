// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/interop"
)

// verifyFile checks a signature in an archive that the OCM CLI wrote.
func verifyFile(t *testing.T, s interop.Signature, keys component.Keys) (*Verified, error) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), s.File)
	require.NoError(t, os.WriteFile(archive, interop.Read(t, "signed/"+s.File), 0o600))
	client, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	place, key, err := ParseName(s.Component, archive)
	require.NoError(t, err)
	reader, err := NewReader(publishing.Registry{Client: client}, place)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, reader.Close()) })
	return reader.Verify(t.Context(), key, s.Name, keys)
}

func TestVerifyChecksSignaturesOfTheCLI(t *testing.T) {
	for _, s := range interop.Signatures(t) {
		t.Run(s.File, func(t *testing.T) {
			keys := component.Keys{PublicKey: interop.Read(t, "keys/rsa.pub")}
			if strings.Contains(s.Keys, "ca.crt") {
				keys = component.Keys{Certificates: interop.Read(t, "keys/ca.crt")}
			}
			got, err := verifyFile(t, s, keys)
			require.NoError(t, err)
			assert.Equal(t, s.Component, got.Component+":"+got.Version)
			assert.Equal(t, component.DigestSpec{HashAlgorithm: s.Hash, NormalisationAlgorithm: s.Normalisation, Value: s.Digest}, got.Digest)
			assert.Equal(t, s.Algorithm, got.Algorithm)
			_, err = verifyFile(t, s, component.Keys{PublicKey: interop.Read(t, "keys/ca.crt")})
			assert.ErrorContains(t, err, "it was not made with the key that is trusted")
		})
	}
}
