// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"crypto"
	"errors"
	"time"
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

// Algorithms that bring descriptors into the form that is hashed.
const (
	// NormalisationV1 depends on the schema of the descriptor.
	NormalisationV1 = "jsonNormalisation/v1"
	// NormalisationV2 is independent of the schema.
	NormalisationV2 = "jsonNormalisation/v2"
	// NormalisationV3 is NormalisationV2 in canonical JSON (RFC 8785).
	NormalisationV3 = "jsonNormalisation/v3"
	// NormalisationV4 is canonical JSON (RFC 8785) as written by the second generation of the OCM tools.
	NormalisationV4 = "jsonNormalisation/v4alpha1"
)

// Keys are what a signature is checked with. At least one of both is needed.
type Keys struct {
	// PublicKey is an RSA public key or a certificate in PEM.
	PublicKey []byte
	// Certificates are the trusted certificate authorities in PEM.
	Certificates []byte
	// Time at which certificates have to be valid; zero means now.
	Time time.Time
}

// BlobDigester computes the digest of a resource's content with the algorithms of want.
type BlobDigester func(ctx context.Context, d *Descriptor, r *Resource, want DigestSpec) (DigestSpec, error)

// Verify checks the signature of that name on the root of the closure, and with it all components behind it: the digests of the
// references are computed anew from the normalised descriptors. Every resource with content needs a digest, which is compared with
// the content when digester is given; otherwise whoever reads the content later has to use DigestSpec.Verify.
func Verify(ctx context.Context, closed *Closed, name string, keys Keys, digester BlobDigester) error {
	return errors.New("not yet")
}

// SignOptions say how to sign. Zero fields mean the defaults.
type SignOptions struct {
	// Name of the signature.
	Name string
	// Normalisation algorithm; NormalisationV2 by default.
	Normalisation string
	// Hash algorithm; HashSHA256 by default.
	Hash string
	// Algorithm is AlgorithmPKCS1v15 by default.
	Algorithm string
	// Key is an RSA private key.
	Key crypto.Signer
	// Certificates are the chain of the signer in PEM, own certificate first; with them the signature is written as MediaTypePEM.
	Certificates []byte
}

// Sign returns a copy of the closure's root that carries a signature, with the digests of the references filled in.
func Sign(closed *Closed, o SignOptions) (*Descriptor, error) { return nil, errors.New("not yet") }

// Normalise returns the bytes that are hashed for a signature.
func (d *Descriptor) Normalise(algorithm string) ([]byte, error) { return nil, errors.New("not yet") }
