// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ParsePrivateKey reads an unencrypted private key in PEM: PKCS #8, PKCS #1 (RSA) or SEC 1 (ECDSA). The error holds nothing of the key.
func ParsePrivateKey(text []byte) (crypto.Signer, error) {
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

// Sign signs a message as cosign does: its SHA-256 sum with ECDSA, in ASN.1, or with RSA by PKCS #1 v1.5; with Ed25519 the message itself.
func Sign(signer crypto.Signer, message []byte) ([]byte, error) {
	if _, isEd25519 := signer.Public().(ed25519.PublicKey); isEd25519 {
		return signer.Sign(nil, message, crypto.Hash(0))
	}
	sum := sha256.Sum256(message)
	return signer.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// Verifies reports whether a signature is one that Sign made with the private half of a key.
func Verifies(public crypto.PublicKey, message, signature []byte) bool {
	sum := sha256.Sum256(message)
	switch key := public.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, message, signature)
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, sum[:], signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	}
	return false
}
