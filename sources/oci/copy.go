// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// CopyOptions are the logins of both sides of a copy.
type CopyOptions struct {
	// From and To are the caller's logins for the source and the destination.
	From, To Credentials
}

// Copy copies the artifact from (with tag or digest) to the repository and, if it has one, the tag of to, byte by byte: the
// digest stays. Of an index all manifests are copied. It returns the digest. The error is an *Error that names the side
// that failed.
func (c *Client) Copy(ctx context.Context, from, to string, o CopyOptions) (digest.Digest, error) {
	m, err := c.Manifest(ctx, from, o.From)
	if err != nil {
		return "", err
	}
	for _, d := range append([]ocispec.Descriptor{m.Config}, m.Layers...) {
		if err := c.copyBlob(ctx, m, d, to, o.To); err != nil {
			return "", err
		}
	}
	return c.PushManifest(ctx, to, m.MediaType, m.Raw, o.To)
}

func (c *Client) copyBlob(ctx context.Context, m *Manifest, d ocispec.Descriptor, to string, credentials Credentials) error {
	content, err := m.Open(ctx, d.Digest, 0)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	_, err = c.PushBlob(ctx, to, Source{MediaType: d.MediaType, Content: content, Size: d.Size}, credentials)
	return err
}
