// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/interop"
)

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
		value, _, err := decodeSignature(component.SignatureSpec{MediaType: MediaTypePEM, Value: string(text), Algorithm: AlgorithmPSS})
		if err != nil {
			assert.Empty(t, value)
		}
	})
}
