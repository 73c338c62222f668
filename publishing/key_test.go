// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func TestParse(t *testing.T) {
	ofRSA, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ofECDSA, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	_, ofEd25519, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	sec1, err := x509.MarshalECPrivateKey(ofECDSA)
	require.NoError(t, err)
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		require.NoError(t, err)
		return block("PRIVATE KEY", der)
	}
	for name, test := range map[string]struct {
		text []byte
		want any
	}{
		"RSA as PKCS #1":     {block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(ofRSA)), ofRSA},
		"RSA as PKCS #8":     {pkcs8(ofRSA), ofRSA},
		"ECDSA as SEC 1":     {block("EC PRIVATE KEY", sec1), ofECDSA},
		"ECDSA as PKCS #8":   {pkcs8(ofECDSA), ofECDSA},
		"Ed25519 as PKCS #8": {pkcs8(ofEd25519), ofEd25519},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePrivateKey(test.text)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
			signature, err := Sign(got, []byte("word"))
			require.NoError(t, err)
			assert.True(t, Verifies(got.Public(), []byte("word"), signature))
			assert.False(t, Verifies(got.Public(), []byte("another"), signature))
		})
	}
}

func TestParseRefuses(t *testing.T) {
	_, err := ParsePrivateKey([]byte("letters"))
	assert.EqualError(t, err, "the private key is not in PEM")
	_, err = ParsePrivateKey(block("ENCRYPTED PRIVATE KEY", []byte("letters")))
	assert.ErrorContains(t, err, `of type "ENCRYPTED PRIVATE KEY", cannot be read: give an unencrypted one`)
	assert.NotContains(t, err.Error(), "letters")
}

func FuzzParse(f *testing.F) {
	f.Add(block("PRIVATE KEY", []byte{0x30}))
	f.Fuzz(func(t *testing.T, text []byte) {
		if signer, err := ParsePrivateKey(text); err == nil {
			assert.NotNil(t, signer.Public())
		}
	})
}
