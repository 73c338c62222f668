// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	// The hash functions that Flux may use for a digest register themselves.
	_ "crypto/sha256"
	_ "crypto/sha512"
	"fmt"

	"github.com/opencontainers/go-digest"
	_ "github.com/opencontainers/go-digest/blake3"
)

// Artifact is what a source offers for download.
type Artifact struct {
	// URL is the http or https address of the archive or file.
	URL string
	// Digest is the digest of the bytes behind URL, as "<algorithm>:<hex>"; sha256, sha384, sha512 and blake3 are known.
	Digest string
	// Revision is the human-readable revision; used in messages only.
	Revision string
	// Source names who offers the artifact, for instance "OCIRepository default/shop"; used in messages only.
	Source string

	// content stands for the other fields in messages about a Content.
	content string
}

// String names the artifact for a person: its source, if known, and its revision, or its digest where it has none.
func (a Artifact) String() string {
	if a.content != "" {
		return a.content
	}
	name := cmp.Or(a.Revision, a.Digest)
	if a.Source == "" {
		return fmt.Sprintf("artifact %q", name)
	}
	return fmt.Sprintf("artifact %q of %s", name, a.Source)
}

// parseDigest returns the digest in canonical form, or an ErrDigest.
func (a Artifact) parseDigest() (digest.Digest, error) {
	if a.Digest == "" {
		return "", refuse(ErrDigest, a.String(), "status.artifact.digest is empty",
			"let the source publish its artifact with a digest")
	}
	d, err := digest.Parse(a.Digest)
	if err != nil {
		return "", refuse(ErrDigest, a.String(), fmt.Sprintf("status.artifact.digest %q cannot be used: %v", a.Digest, err),
			"let the source publish a digest such as sha256:<64 hex digits>")
	}
	return d, nil
}
