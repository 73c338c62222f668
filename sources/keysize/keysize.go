// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package keysize refuses RSA keys that are larger than those in use. What the standard library computes with a key grows with the square or the cube of its
// size, takes hours for one of a megabyte, and ends with no context.
package keysize

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
)

const (
	// Most is the size in bits of the largest RSA key that is used, which is also what crypto/tls takes from a server.
	Most = 8192
	// mostEncoded is the size in bytes of the largest private key: several times what one of Most bits takes.
	mostEncoded = 16 << 10
)

// LargeError says that a key is too large. It repeats nothing of the key.
type LargeError struct{ bits int }

// Error says how large the key may be.
func (e *LargeError) Error() string {
	return fmt.Sprintf("an RSA key has numbers of %d bits, and %d are the most; use a smaller key", e.bits, Most)
}

func judge(numbers ...*big.Int) error {
	for _, number := range numbers {
		if number != nil && number.BitLen() > Most {
			return &LargeError{bits: number.BitLen()}
		}
	}
	return nil
}

// Public returns a *LargeError for an RSA public key that is too large, and nil for any other key.
func Public(key any) error {
	if known, ok := key.(*rsa.PublicKey); ok {
		return judge(known.N)
	}
	return nil
}

// Certificates returns a *LargeError if a certificate among PEM blocks has an RSA key that is too large. What is no certificate is left to whoever reads it.
func Certificates(blocks []byte) error {
	for block, rest := pem.Decode(blocks); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if err := Public(certificate.PublicKey); err != nil {
			return err
		}
	}
	return nil
}

// rsaNumbers is how an RSA private key begins (RFC 8017, A.1.2). The primes may be larger than the modulus: nobody has compared them yet.
type rsaNumbers struct {
	Version int
	N       *big.Int
	E       *big.Int
	D, P, Q *big.Int
}

// wrapped is how a private key in PKCS #8 begins (RFC 5208).
type wrapped struct {
	Version   int
	Algorithm asn1.RawValue
	Key       []byte
}

// Private returns a *LargeError if one of the private keys among PEM blocks is too large. What is no RSA key is left to whoever reads it.
func Private(blocks []byte) error {
	for block, rest := pem.Decode(blocks); block != nil; block, rest = pem.Decode(rest) {
		der := block.Bytes
		if len(der) > mostEncoded {
			return &LargeError{bits: 8 * len(der)}
		}
		var outer wrapped
		if _, err := asn1.Unmarshal(der, &outer); err == nil {
			der = outer.Key
		}
		var key rsaNumbers
		if _, err := asn1.Unmarshal(der, &key); err != nil {
			continue
		}
		if err := judge(key.N, key.E, key.D, key.P, key.Q); err != nil {
			return err
		}
	}
	return nil
}
