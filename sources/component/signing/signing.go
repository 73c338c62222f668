// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package signing signs component versions with all behind them, and verifies what others have signed. It knows descriptors only, not where
// they lie.
package signing

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/keysize"
)

// Algorithms and media types of signatures.
const (
	// AlgorithmPKCS1v15 is RSASSA-PKCS1-V1_5.
	AlgorithmPKCS1v15 = "RSASSA-PKCS1-V1_5"
	// AlgorithmPSS is RSASSA-PSS.
	AlgorithmPSS = "RSASSA-PSS"
	// MediaTypeRSA is a signature of AlgorithmPKCS1v15 in hexadecimal digits.
	MediaTypeRSA = "application/vnd.ocm.signature.rsa"
	// MediaTypePSS is a signature of AlgorithmPSS in hexadecimal digits.
	MediaTypePSS = "application/vnd.ocm.signature.rsa.pss"
	// MediaTypePEM is a signature in a PEM block, with the certificates of the signer behind it.
	MediaTypePEM = "application/x-pem-file"
)

// Types of PEM blocks, and the header of a signature that names its algorithm.
const (
	pemSignature       = "SIGNATURE"
	pemCertificate     = "CERTIFICATE"
	pemPublicKey       = "PUBLIC KEY"
	pemRSAPublicKey    = "RSA PUBLIC KEY"
	pemAlgorithmHeader = "Signature Algorithm"
)

// SignOptions say how to sign. Empty fields mean the defaults.
type SignOptions struct {
	// Name of the signature; needed. A signature of that name is replaced.
	Name string
	// Normalisation algorithm; NormalisationV3 by default.
	Normalisation string
	// Hash algorithm; HashSHA256 by default.
	Hash string
	// Algorithm is AlgorithmPKCS1v15 by default. Signatures of AlgorithmPSS are written as MediaTypePEM: the OCM tools refuse them in
	// hexadecimal digits. Give Certificates, too, for these tools to verify them.
	Algorithm string
	// Key is an RSA private key.
	Key crypto.Signer
	// Certificates are the chain of the signer in PEM, own certificate first; with them the signature is written as MediaTypePEM.
	Certificates []byte
	// Issuer is the distinguished name of the signer; with Certificates, the subject of the first one by default.
	Issuer string
}

// Sign returns a copy of the closure's root that carries a signature, with the digests of its references filled in. Every resource with
// content in the closure needs a digest.
func Sign(closed *component.Closed, o SignOptions) (*component.Descriptor, error) {
	o = o.withDefaults()
	if o.Name == "" || o.Key == nil {
		return nil, errors.New("a signature needs a name and a key")
	}
	digests := newDigests(closed, o.Normalisation, o.Hash)
	sum, filled, err := digests.of(context.Background(), closed.Root)
	if err != nil {
		return nil, err
	}
	proof, err := o.sign(sum.bytes)
	if err != nil {
		return nil, fmt.Errorf("component %s cannot be signed: %w", closed.Root.Key(), err)
	}
	signed := *filled
	signed.Signatures = slices.DeleteFunc(slices.Clone(signed.Signatures), func(s component.Signature) bool { return s.Name == o.Name })
	signed.Signatures = append(signed.Signatures, component.Signature{Name: o.Name, Digest: sum.spec, Signature: proof})
	return &signed, nil
}

func (o SignOptions) withDefaults() SignOptions {
	for _, option := range []struct {
		value    *string
		standard string
	}{{&o.Normalisation, component.NormalisationV3}, {&o.Hash, component.HashSHA256}, {&o.Algorithm, AlgorithmPKCS1v15}} {
		*option.value = cmp.Or(*option.value, option.standard)
	}
	return o
}

// signerOptions returns what crypto.Signer needs for an algorithm.
func signerOptions(algorithm string, hash crypto.Hash) (crypto.SignerOpts, error) {
	switch algorithm {
	case AlgorithmPKCS1v15:
		return hash, nil
	case AlgorithmPSS:
		return &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto, Hash: hash}, nil
	}
	return nil, fmt.Errorf("signature algorithm %q is not supported; use %s or %s", algorithm, AlgorithmPKCS1v15, AlgorithmPSS)
}

func (o SignOptions) sign(sum []byte) (component.SignatureSpec, error) {
	if _, ok := o.Key.Public().(*rsa.PublicKey); !ok {
		return component.SignatureSpec{}, errors.New("the key is not an RSA key")
	}
	hash, err := component.HashOf(o.Hash)
	if err != nil {
		return component.SignatureSpec{}, err
	}
	options, err := signerOptions(o.Algorithm, hash)
	if err != nil {
		return component.SignatureSpec{}, err
	}
	value, err := o.Key.Sign(rand.Reader, sum, options)
	if err != nil {
		return component.SignatureSpec{}, err
	}
	if len(o.Certificates) > 0 || o.Algorithm == AlgorithmPSS {
		return o.inPEM(value)
	}
	return component.SignatureSpec{Algorithm: o.Algorithm, Value: hex.EncodeToString(value), MediaType: MediaTypeRSA, Issuer: o.Issuer}, nil
}

// inPEM writes the signature and the chain, which may be empty, as PEM blocks.
func (o SignOptions) inPEM(value []byte) (component.SignatureSpec, error) {
	chain, err := parseCertificates(o.Certificates)
	if err != nil {
		return component.SignatureSpec{}, err
	}
	if len(o.Certificates) > 0 && len(chain) == 0 {
		return component.SignatureSpec{}, errors.New("the certificates hold no PEM block of type " + pemCertificate)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: pemSignature, Headers: map[string]string{pemAlgorithmHeader: o.Algorithm}, Bytes: value})
	for _, certificate := range chain {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: certificate.Raw})...)
	}
	issuer := o.Issuer
	if issuer == "" && len(chain) > 0 {
		issuer = chain[0].Subject.String()
	}
	return component.SignatureSpec{Algorithm: o.Algorithm, Value: string(text), MediaType: MediaTypePEM, Issuer: issuer}, nil
}

// maxCertificates is how many certificates a chain may have.
const maxCertificates = 100

// parseCertificates reads the PEM blocks with certificates and skips others.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != pemCertificate {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("a certificate is malformed: %w", err)
		}
		if err := keysize.Public(certificate.PublicKey); err != nil {
			return nil, fmt.Errorf("a certificate cannot be used: %w", err)
		}
		if out = append(out, certificate); len(out) > maxCertificates {
			return nil, fmt.Errorf("there are more than %d certificates", maxCertificates)
		}
	}
	return out, nil
}
