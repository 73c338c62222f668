// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto"
	_ "crypto/sha256" // registers SHA-256
	_ "crypto/sha512" // registers SHA-512
	"encoding/hex"
	"fmt"
	"hash"
	"io"
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

// NewDigest returns the digest of content with SHA-256, under a normalisation algorithm: GenericBlobDigest for a blob, OCIArtifactDigest
// for the bytes of a manifest.
func NewDigest(normalisation string, content io.Reader) (*DigestSpec, error) {
	h := crypto.SHA256.New()
	if _, err := io.Copy(h, content); err != nil {
		return nil, err
	}
	return &DigestSpec{HashAlgorithm: HashSHA256, NormalisationAlgorithm: normalisation, Value: hex.EncodeToString(h.Sum(nil))}, nil
}

// Verify reads content to its end and compares: the blob for GenericBlobDigest, the bytes of the manifest for OCIArtifactDigest. Where
// there is no digest to compare with, it reads nothing and succeeds.
func (d *DigestSpec) Verify(content io.Reader) error {
	if !d.Covered() {
		return nil
	}
	v, err := d.Verifier()
	if err != nil {
		return err
	}
	if _, err := io.Copy(v, content); err != nil {
		return err
	}
	return v.Check()
}

// Verifier returns a writer that takes the content as Verify does. Check it at the end. It fails for algorithms that are not supported.
func (d *DigestSpec) Verifier() (*Verifier, error) {
	if !d.Covered() {
		return &Verifier{}, nil
	}
	h, err := HashOf(d.HashAlgorithm)
	if err != nil {
		return nil, err
	}
	switch d.NormalisationAlgorithm {
	case GenericBlobDigest, OCIArtifactDigest, "ociArtefactDigest/v1":
		return &Verifier{want: d, hash: h.New()}, nil
	}
	return nil, fmt.Errorf("normalisation algorithm %q of a resource's digest is not supported; use %s or %s",
		d.NormalisationAlgorithm, GenericBlobDigest, OCIArtifactDigest)
}

// Verifier compares content that is written to it with a digest. Make one with DigestSpec.Verifier.
type Verifier struct {
	want *DigestSpec
	hash hash.Hash
}

// Write takes content; it never fails.
func (v *Verifier) Write(content []byte) (int, error) {
	if v.hash == nil {
		return len(content), nil
	}
	return v.hash.Write(content)
}

// Check reports whether what was written has the digest.
func (v *Verifier) Check() error {
	if v.hash == nil {
		return nil
	}
	if got := hex.EncodeToString(v.hash.Sum(nil)); !strings.EqualFold(got, v.want.Value) {
		return fmt.Errorf("the content has %s digest %s, but the component descriptor says %.200q; publish the component again",
			v.want.HashAlgorithm, got, v.want.Value)
	}
	return nil
}
