// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"io"

	"github.com/opencontainers/go-digest"
)

// Content is verified content of a registry that is read without holding it in memory. It implements io.Reader,
// io.Seeker, io.ReaderAt and io.Closer; ReadAt may be called concurrently. It has to be closed.
type Content struct {
	// Digest and MediaType describe the content. MediaType is what the manifest says, empty for OpenBlob.
	Digest    digest.Digest
	MediaType string

	*io.SectionReader
	closer io.Closer
}

// Close gives the content back to the cache.
func (c *Content) Close() error { return c.closer.Close() }

// Open returns the config or layer of m with the digest d, of at most maxBytes; zero means Options.MaxContent. The caller
// closes it. Errors are those of Client.Pull.
func (m *Manifest) Open(ctx context.Context, d digest.Digest, maxBytes int64) (*Content, error) {
	b, err := m.Blob(ctx, d, maxBytes)
	if err != nil {
		return nil, err
	}
	return memory(b), nil
}

// PullContent is Pull for content of any size: the layer is streamed to disk and read from there. The caller closes it.
func (c *Client) PullContent(ctx context.Context, ref string, o PullOptions) (*Content, error) {
	b, err := c.Pull(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	return memory(b), nil
}

func memory(b *Blob) *Content {
	return &Content{Digest: b.Digest, MediaType: b.MediaType,
		SectionReader: io.NewSectionReader(bytes.NewReader(b.Bytes), 0, int64(len(b.Bytes))), closer: io.NopCloser(nil)}
}

// OpenBlob returns a blob that is named by its digest alone, as component versions do with access type ociBlob: ref is
// "host/repository@digest", size is what the caller was told, or negative if unknown. The caller closes it. Errors are
// those of Client.Pull.
func (c *Client) OpenBlob(ctx context.Context, ref string, size, maxBytes int64, credentials Credentials) (*Content, error) {
	t, err := c.locate(ref, credentials, true)
	if err != nil {
		return nil, err
	}
	d, err := c.repository(t).Blobs().Resolve(ctx, t.at.Reference)
	if err != nil {
		return nil, t.explain("find the blob", err)
	}
	raw, err := c.content(ctx, t, d, c.options.MaxBlob, layerPart)
	if err != nil {
		return nil, err
	}
	return memory(&Blob{Digest: d.Digest, Bytes: raw}), nil
}
