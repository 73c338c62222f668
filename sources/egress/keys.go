// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
)

const (
	// LargestKey is the size in bits of the largest RSA key that is used, which is also what crypto/tls takes from a server. What the standard library
	// computes with a key grows with the square or the cube of its size, takes hours for one of a megabyte, and ends with no context.
	LargestKey = 8192
	// mostEncoded is the size in bytes of the largest private key: several times what one of LargestKey bits takes.
	mostEncoded = 16 << 10
)

func tooLarge(bits int) error {
	return fmt.Errorf("an RSA key has numbers of %d bits, and %d are the most; use a smaller key", bits, LargestKey)
}

func judge(numbers ...*big.Int) error {
	for _, number := range numbers {
		if number != nil && number.BitLen() > LargestKey {
			return tooLarge(number.BitLen())
		}
	}
	return nil
}

// CheckCertificates refuses PEM blocks in which a certificate has an RSA key that is too large. What is no certificate is left to whoever reads it.
func CheckCertificates(blocks []byte) error {
	for block, rest := pem.Decode(blocks); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if key, ok := certificate.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > LargestKey {
			return tooLarge(key.N.BitLen())
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

// CheckPrivateKeys refuses PEM blocks with an RSA key that is too large. What is no RSA key is left to whoever reads it. The error repeats nothing of a key.
func CheckPrivateKeys(blocks []byte) error {
	for block, rest := pem.Decode(blocks); block != nil; block, rest = pem.Decode(rest) {
		der := block.Bytes
		if len(der) > mostEncoded {
			return tooLarge(8 * len(der))
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
