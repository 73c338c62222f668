// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package largekey makes RSA keys that are larger than those in use, in PEM.
package largekey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// Numbers are those of an RSA private key (RFC 8017, A.1.2), without the ones that may be left out.
type Numbers struct {
	Version    int
	N          *big.Int
	E          int
	D          *big.Int
	Prime, Two *big.Int
}

// Odd returns an odd number of so many bits.
func Odd(bits uint) *big.Int {
	number := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return number.SetBit(number, 0, 1)
}

// WithPrime returns the numbers of a key of 1024 bits one of whose primes has so many bits. Libraries compute with the primes before they compare them.
func WithPrime(bits uint) Numbers {
	return Numbers{N: Odd(1024), E: 3, D: big.NewInt(3), Prime: Odd(bits), Two: big.NewInt(3)}
}

// Private returns a private key.
func Private(t testing.TB, key Numbers) []byte {
	t.Helper()
	der, err := asn1.Marshal(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: der})
}

// Certificate returns a certificate of a key of so many bits, which is not signed with it.
func Certificate(t testing.TB, bits uint) []byte {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	key := &rsa.PublicKey{N: Odd(bits), E: 65537}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{}, key, signer)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
