// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto"
	_ "crypto/sha256" // registers SHA-256
	_ "crypto/sha512" // registers SHA-512
	"fmt"
	"strings"
)

// Algorithms of digests.
const (
	// HashSHA256 is SHA-256.
	HashSHA256 = "SHA-256"
	// HashSHA512 is SHA-512.
	HashSHA512 = "SHA-512"
	// NoDigest stands for the digest of content that signatures do not cover.
	NoDigest = "NO-DIGEST"
	// ExcludeFromSignature is the normalisation algorithm of NoDigest.
	ExcludeFromSignature = "EXCLUDE-FROM-SIGNATURE"
	// GenericBlobDigest hashes the bytes of the blob.
	GenericBlobDigest = "genericBlobDigest/v1"
	// OCIArtifactDigest hashes the bytes of the manifest of an OCI artifact.
	OCIArtifactDigest = "ociArtifactDigest/v1"
)

// hashes by their names without dash in upper case.
var hashes = map[string]crypto.Hash{"SHA256": crypto.SHA256, "SHA512": crypto.SHA512}

// HashOf returns the function for an algorithm, written as SHA-256 or sha256.
func HashOf(algorithm string) (crypto.Hash, error) {
	if h, known := hashes[strings.ReplaceAll(strings.ToUpper(algorithm), "-", "")]; known {
		return h, nil
	}
	return 0, fmt.Errorf("hash algorithm %q is not supported; use %s or %s", algorithm, HashSHA256, HashSHA512)
}

// Covered reports whether there is a digest to compare with: d is not nil and does not stand for excluded content.
func (d *DigestSpec) Covered() bool { return d != nil && d.HashAlgorithm != NoDigest }

// NewDigest returns a digest with SHA-256 under a normalisation algorithm, GenericBlobDigest or OCIArtifactDigest; value is in hexadecimal digits.
func NewDigest(normalisation, value string) *DigestSpec {
	return &DigestSpec{HashAlgorithm: HashSHA256, NormalisationAlgorithm: normalisation, Value: value}
}
