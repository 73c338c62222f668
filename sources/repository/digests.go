// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// ErrDigest is inside the error about content that is not that of the descriptor.
var ErrDigest = errors.New("digest mismatch")

func mismatch(want, got digest.Digest) error {
	return &fault.Error{Kind: fault.Stalled, Subject: "content", Problem: fmt.Sprintf("its digest is %s, but the component descriptor says %s", got, want), Class: ErrDigest,
		Cure: "find out who changed it, and publish the component version anew"}
}

// hashes are the hash algorithms of OCM.
var hashes = map[string]digest.Algorithm{component.HashSHA256: digest.SHA256, component.HashSHA512: digest.SHA512}

// wanted reads the digest of a resource: the digest and what it is of (component.GenericBlobDigest or OCIArtifactDigest). Both are
// empty if the resource has none, or one that says that it is not covered.
func wanted(spec *component.DigestSpec) (want digest.Digest, of string, err error) {
	if spec == nil || spec.HashAlgorithm == component.NoDigest || spec.NormalisationAlgorithm == component.ExcludeFromSignature {
		return "", "", nil
	}
	algorithm, known := hashes[spec.HashAlgorithm]
	if !known {
		return "", "", stalled("digest", fmt.Sprintf("hash algorithm %q is unknown", spec.HashAlgorithm), "use SHA-256 or SHA-512")
	}
	want = digest.NewDigestFromEncoded(algorithm, strings.ToLower(spec.Value))
	if want.Validate() != nil {
		return "", "", stalled("digest", fmt.Sprintf("value %q is not a digest of %s", spec.Value, spec.HashAlgorithm), "publish the component version anew")
	}
	switch spec.NormalisationAlgorithm {
	case component.GenericBlobDigest, component.OCIArtifactDigest:
		return want, spec.NormalisationAlgorithm, nil
	}
	return "", "", stalled("digest", fmt.Sprintf("normalisation algorithm %q is unknown", spec.NormalisationAlgorithm), "use genericBlobDigest/v1 or ociArtifactDigest/v1")
}

// expect compares the digest of an OCI artifact, and returns the digest that the bytes must have; "" if nobody says one.
func (f *stream) expect(resource *component.Resource) (digest.Digest, error) {
	if f.compared {
		return f.digest, nil
	}
	want, of, err := wanted(resource.Digest)
	switch {
	case err != nil:
		return "", err
	case of == component.GenericBlobDigest:
		return f.expectBlob(want)
	case of == component.OCIArtifactDigest:
		return f.digest, f.expectArtifact(want)
	}
	return f.digest, nil
}

func (f *stream) expectBlob(want digest.Digest) (digest.Digest, error) {
	if f.digest != "" && f.digest.Algorithm() == want.Algorithm() && f.digest != want {
		return "", mismatch(want, f.digest)
	}
	return want, nil
}

func (f *stream) expectArtifact(want digest.Digest) error {
	if f.manifest == "" {
		return stalled("digest", "it is one of an OCI artifact, but the content is none", "publish the component version anew")
	}
	if f.manifest != want {
		return mismatch(want, f.manifest)
	}
	return nil
}

// Digest reports whether the content of a resource has a digest: it returns want if so. It is a component.BlobDigester, for
// signing.Verify. Of an OCI artifact only the manifest is downloaded where its digest is wanted.
func (s *Session) Digest(ctx context.Context, d *component.Descriptor, resource *component.Resource, want component.DigestSpec) (component.DigestSpec, error) {
	compared := *resource
	compared.Digest = &want
	if want.NormalisationAlgorithm == component.OCIArtifactDigest {
		from, err := s.stream(ctx, d, &compared)
		if err == nil {
			_, err = from.expect(&compared)
		}
		if err != nil {
			return component.DigestSpec{}, about(d, resource, err)
		}
		return want, nil
	}
	blob, err := s.Content(ctx, d, &compared)
	if err != nil {
		return component.DigestSpec{}, err
	}
	return want, blob.Close()
}
