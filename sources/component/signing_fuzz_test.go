// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/interop"
	"github.com/flux-landscaper/flux-landscaper/tests/largekey"
)

// TestLargeKeysAreRefused has keys that signatures could be checked with for hours.
func TestLargeKeysAreRefused(t *testing.T) {
	large := largekey.Certificate(t, largestKey+1)
	_, err := parsePublicKey(large)
	require.ErrorContains(t, err, "use a smaller key")
	_, err = parseCertificates(large)
	require.ErrorContains(t, err, "use a smaller key")
	value := "-----BEGIN SIGNATURE-----\n" + hex.EncodeToString([]byte("AAAA")) + "\n-----END SIGNATURE-----\n" + string(large)
	_, _, err = decodeSignature(SignatureSpec{MediaType: MediaTypePEM, Value: value, Algorithm: AlgorithmPSS})
	require.ErrorContains(t, err, "use a smaller key")
}

// FuzzCertificates reads what a Secret with keys may hold.
func FuzzCertificates(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"))
	f.Add([]byte("-----BEGIN SIGNATURE-----\nSignature Algorithm: RSASSA-PSS\n\nAAAA\n-----END SIGNATURE-----\n"))
	for _, name := range append(interop.Names(f, "keys/*.pub"), interop.Names(f, "keys/*.crt")...) {
		f.Add(interop.Read(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := parsePublicKey(text); err == nil {
			assert.NotNil(t, key)
		}
		value, _, err := decodeSignature(SignatureSpec{MediaType: MediaTypePEM, Value: string(text), Algorithm: AlgorithmPSS})
		if err != nil {
			assert.Empty(t, value)
		}
	})
}
