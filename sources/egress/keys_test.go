// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/largekey"
)

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func inPKCS8(t testing.TB, key largekey.Numbers) []byte {
	t.Helper()
	inner, err := asn1.Marshal(key)
	require.NoError(t, err)
	der, err := asn1.Marshal(struct {
		Version   int
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
	}{Algorithm: pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}}, Key: inner})
	require.NoError(t, err)
	return inPEM("PRIVATE KEY", der)
}

func TestPrivateKeys(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ec, err := x509.MarshalECPrivateKey(curve)
	require.NoError(t, err)
	ec8, err := x509.MarshalPKCS8PrivateKey(curve)
	require.NoError(t, err)
	rsa8, err := x509.MarshalPKCS8PrivateKey(small)
	require.NoError(t, err)
	prime, modulus := largekey.WithPrime(LargestKey+1), largekey.WithPrime(1024)
	modulus.N = largekey.Odd(LargestKey + 1)
	for name, test := range map[string]struct {
		key     []byte
		isLarge bool
	}{
		"RSA":                          {inPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(small)), false},
		"RSA in PKCS 8":                {inPEM("PRIVATE KEY", rsa8), false},
		"elliptic curve":               {inPEM("EC PRIVATE KEY", ec), false},
		"elliptic curve in PKCS 8":     {inPEM("PRIVATE KEY", ec8), false},
		"no key":                       {[]byte("none"), false},
		"large prime":                  {largekey.Private(t, prime), true},
		"large prime in PKCS 8":        {inPKCS8(t, prime), true},
		"large modulus":                {largekey.Private(t, modulus), true},
		"large key behind a small one": {append(inPEM("PRIVATE KEY", rsa8), largekey.Private(t, prime)...), true},
		"large rest":                   {inPEM("RSA PRIVATE KEY", append(x509.MarshalPKCS1PrivateKey(small), make([]byte, mostEncoded)...)), true},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckPrivateKeys(test.key)
			if !test.isLarge {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "use a smaller key")
		})
	}
}

func TestCertificates(t *testing.T) {
	good := largekey.Certificate(t, LargestKey)
	require.NoError(t, CheckCertificates(append(bytes.Clone(good), "text that is no block"...)))
	require.NoError(t, CheckCertificates(inPEM("CERTIFICATE", []byte("no certificate"))))
	require.Error(t, CheckCertificates(append(bytes.Clone(good), largekey.Certificate(t, LargestKey+1)...)))
}

func FuzzKeys(f *testing.F) {
	f.Add(largekey.Private(f, largekey.WithPrime(32)))
	f.Add(inPKCS8(f, largekey.WithPrime(LargestKey+1)))
	f.Add(largekey.Certificate(f, 64))
	f.Fuzz(func(t *testing.T, blocks []byte) {
		for _, err := range []error{CheckPrivateKeys(blocks), CheckCertificates(blocks)} {
			if err != nil {
				require.ErrorContains(t, err, "use a smaller key")
			}
		}
	})
}
