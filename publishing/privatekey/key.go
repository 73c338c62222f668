// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package privatekey reads the keys that sign what is published.
// It promises nothing to others.
package privatekey

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Parse reads an unencrypted private key in PEM: PKCS #8, PKCS #1 (RSA) or SEC 1 (ECDSA). The error holds nothing of the key.
func Parse(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the private key is not in PEM")
	}
	if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if signer, canSign := parsed.(crypto.Signer); canSign {
			return signer, nil
		}
	}
	if parsed, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return parsed, nil
	}
	if parsed, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return parsed, nil
	}
	return nil, fmt.Errorf("the private key, a PEM block of type %.40q, cannot be read: give an unencrypted one as PKCS #8, PKCS #1 or SEC 1", block.Type)
}
