// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
)

// Source is content to push. It is read more than once: for its digest, for the upload, and again if that has to be retried.
type Source struct {
	// MediaType of the blob in the manifest; required.
	MediaType string
	// Content holds Size bytes: an *os.File, a *bytes.Reader, a *Content.
	Content io.ReaderAt
	Size    int64
	// Annotations of the blob in the manifest.
	Annotations map[string]string
}

// BytesSource is a Source of bytes in memory, which must not change until the push is over.
func BytesSource(mediaType string, content []byte) Source {
	return Source{MediaType: mediaType, Content: bytes.NewReader(content), Size: int64(len(content))}
}

// Artifact is what PushArtifact makes a manifest of.
type Artifact struct {
	// ArtifactType is the type of the artifact in the manifest; empty means that the type of the config says it.
	ArtifactType string
	// Config is the config blob; nil means the empty config of OCI (application/vnd.oci.empty.v1+json).
	Config *Source
	// Layers in the order of the manifest.
	Layers []Source
	// Annotations of the manifest.
	Annotations map[string]string
}

// PushArtifact uploads config and layers that the repository does not have yet, then the manifest, and tags it if ref has a
// tag. It returns the digest of the manifest, which depends on nothing but the artifact: no time, no order of a map. The
// error is an *Error.
func (c *Client) PushArtifact(ctx context.Context, ref string, a Artifact, credentials Credentials) (digest.Digest, error) {
	config := a.Config
	if config == nil {
		empty := BytesSource(ocispec.DescriptorEmptyJSON.MediaType, ocispec.DescriptorEmptyJSON.Data)
		config = &empty
	}
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		ArtifactType: a.ArtifactType, Annotations: a.Annotations, Layers: make([]ocispec.Descriptor, 0, len(a.Layers))}
	var err error
	if m.Config, err = c.PushBlob(ctx, ref, *config, credentials); err != nil {
		return "", err
	}
	for _, layer := range a.Layers {
		d, err := c.PushBlob(ctx, ref, layer, credentials)
		if err != nil {
			return "", err
		}
		m.Layers = append(m.Layers, d)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encode the manifest of %q: %w", redactUserinfo(ref), err)
	}
	return c.PushManifest(ctx, ref, m.MediaType, raw, credentials)
}

// PushBlob uploads a blob to the repository of ref (tag and digest are ignored) unless it is there, and returns its
// descriptor for a manifest. The error is an *Error.
func (c *Client) PushBlob(ctx context.Context, ref string, s Source, credentials Credentials) (ocispec.Descriptor, error) {
	t, err := c.locate(ref, credentials, false)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d, err := s.describe(t)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	blobs := c.repository(t).Blobs()
	there, err := blobs.Exists(ctx, d)
	if err == nil && !there {
		err = blobs.Push(ctx, d, io.NewSectionReader(s.Content, 0, s.Size))
	}
	return d, t.explain("upload a blob", err)
}

// describe reads the content once for its digest.
func (s Source) describe(t target) (ocispec.Descriptor, error) {
	if s.MediaType == "" || s.Content == nil || s.Size < 0 {
		return ocispec.Descriptor{}, invalid(t.written, "a blob to push has no media type or no content", "give both")
	}
	digester := digest.Canonical.Digester()
	n, err := io.Copy(digester.Hash(), io.NewSectionReader(s.Content, 0, s.Size))
	if err != nil || n != s.Size {
		return ocispec.Descriptor{}, fmt.Errorf("read the blob to push to %q: %d of %d bytes: %w", t.written, n, s.Size, errors.Join(err, io.ErrUnexpectedEOF))
	}
	return ocispec.Descriptor{MediaType: s.MediaType, Digest: digester.Digest(), Size: n, Annotations: s.Annotations}, nil
}

// PushManifest uploads a manifest or index as it is, tags it if ref has a tag, and returns its digest. What it refers to
// has to be in the repository. A digest in ref has to be that of raw. The error is an *Error.
func (c *Client) PushManifest(ctx context.Context, ref, mediaType string, raw []byte, credentials Credentials) (digest.Digest, error) {
	t, err := c.locate(ref, credentials, false)
	if err != nil {
		return "", err
	}
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	as := t.at.Reference
	if as == "" {
		as = d.Digest.String()
	}
	err = c.repository(t).Manifests().PushReference(ctx, d, bytes.NewReader(raw), as)
	return d.Digest, t.explain("upload its manifest", err)
}

// Tag makes the tag of ref ("host/repository:tag") stand for the manifest d of the same repository. The error is an *Error.
func (c *Client) Tag(ctx context.Context, ref string, d digest.Digest, credentials Credentials) error {
	t, err := c.locate(ref, credentials, true)
	if err != nil {
		return err
	}
	r := c.repository(t)
	found, err := r.Resolve(ctx, d.String())
	if err == nil {
		err = r.Tag(ctx, found, t.at.Reference)
	}
	return t.explain("tag it", err)
}

// Exists tells whether the tag or digest of ref is a manifest of the repository. A registry that cannot be asked, or
// refuses the credentials, is an *Error.
func (c *Client) Exists(ctx context.Context, ref string, credentials Credentials) (bool, error) {
	t, err := c.locate(ref, credentials, true)
	if err != nil {
		return false, err
	}
	_, err = c.repository(t).Resolve(ctx, t.at.Reference)
	if errors.Is(err, errdef.ErrNotFound) {
		return false, nil
	}
	return err == nil, t.explain("look it up", err)
}
