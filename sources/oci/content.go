// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// Content is verified content on disk. It implements io.Reader, io.Seeker, io.ReaderAt and io.Closer; ReadAt may be called
// concurrently. It has to be closed.
type Content struct {
	// Digest and MediaType describe the content. MediaType is what the manifest says, empty for OpenBlob.
	Digest    digest.Digest
	MediaType string
	// ManifestDigest is the digest that the tag stood for at the time of the call, empty for OpenBlob.
	ManifestDigest digest.Digest
	// Stale is that of the Manifest.
	Stale bool

	*io.SectionReader
	file *fetch.File
}

// Close gives the content back to the cache.
func (c *Content) Close() error { return c.file.Close() }

func newContent(file *fetch.File, d ocispec.Descriptor) *Content {
	return &Content{Digest: d.Digest, MediaType: d.MediaType, SectionReader: io.NewSectionReader(file, 0, file.Size), file: file}
}

// Open returns the config or layer of m with the digest d, of at most maxBytes; zero means Options.MaxContent. It is
// streamed to disk unless it is there. The caller closes it. The error is a *fault.Error.
func (m *Manifest) Open(ctx context.Context, d digest.Digest, maxBytes int64) (*Content, error) {
	ctx, cancel := m.client.registries.transferring(ctx)
	defer cancel()
	found, err := m.part(d)
	if err != nil {
		return nil, err
	}
	file, err := m.client.cache.open(ctx, m.target, found, orLimit(maxBytes, m.client.registries.options.MaxContent), layerPart)
	if err != nil {
		return nil, err
	}
	content := newContent(file, found)
	content.ManifestDigest, content.Stale = m.Digest, m.Stale
	return content, nil
}

// PullContent is Pull for content of any size: the layer is streamed to disk and read from there. The caller closes it.
func (c *Client) PullContent(ctx context.Context, ref string, o PullOptions) (*Content, error) {
	m, layer, err := c.pick(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	return m.Open(ctx, layer.Digest, o.MaxBytes)
}

// OpenBlob returns a blob that is named by its digest alone, as component versions do with access type ociBlob: ref is
// "host/repository@digest", size is what the caller was told, or negative if unknown; maxBytes limits it, zero means
// Options.MaxContent. The caller closes it. The error is a *fault.Error.
func (c *Client) OpenBlob(ctx context.Context, ref string, size, maxBytes int64, credentials keychain.Credentials) (*Content, error) {
	t, err := c.registries.locate(ref, credentials, true)
	if err != nil {
		return nil, err
	}
	if _, err := t.at.Digest(); err != nil {
		return nil, invalid(ref, "a blob has no tag", "write it as host/repository@sha256:digest")
	}
	t, found, err := c.cache.resolve(ctx, t, c.registries.headOf(layerPart))
	if err != nil {
		return nil, err
	}
	found.MediaType = ""
	if size >= 0 {
		found.Size = size
	}
	ctx, cancel := c.registries.transferring(ctx)
	defer cancel()
	file, err := c.cache.open(ctx, t, found.Descriptor, orLimit(maxBytes, c.registries.options.MaxContent), layerPart)
	if err != nil {
		return nil, err
	}
	content := newContent(file, found.Descriptor)
	content.Stale = found.stale
	return content, nil
}
