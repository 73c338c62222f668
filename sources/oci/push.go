// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"
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
// error is a *fault.Error.
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
		return "", fmt.Errorf("encode the manifest of %q: %w", HideUser(ref), err)
	}
	return c.PushManifest(ctx, ref, m.MediaType, raw, credentials)
}

// PushBlob uploads a blob to the repository of ref (tag and digest are ignored) unless it is there, and returns its
// descriptor for a manifest. The error is a *fault.Error.
func (c *Client) PushBlob(ctx context.Context, ref string, s Source, credentials Credentials) (ocispec.Descriptor, error) {
	t, err := c.locate(ref, credentials, false)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d, err := s.describe(t)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	ctx, cancel := c.transferring(ctx)
	defer cancel()
	return d, t.explain(ctx, "upload a blob", c.upload(ctx, t, d, s.Content))
}

// upload begins anew if it broke: a part of an upload is of no use to most registries.
func (c *Client) upload(ctx context.Context, t target, d ocispec.Descriptor, content io.ReaderAt) error {
	blobs := c.repository(t).Blobs()
	if there, err := blobs.Exists(ctx, d); err != nil || there {
		return err
	}
	for attempt := 0; ; attempt++ {
		err := blobs.Push(ctx, d, newRewindable(content, d.Size))
		if attempt >= transferTries || !interrupted(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(backoff(attempt, nil)):
		}
	}
}

// rewindable is the body of an upload, which has to be sent again after a refusal or a hiccup.
type rewindable struct {
	*io.SectionReader
	from io.ReaderAt
}

func newRewindable(from io.ReaderAt, size int64) *rewindable {
	return &rewindable{io.NewSectionReader(from, 0, size), from}
}

// Close does nothing: the content belongs to the caller.
func (*rewindable) Close() error { return nil }

// resending is the HTTP client that sends a rewindable body as often as need be.
type resending struct{ *auth.Client }

// Do implements remote.Client.
func (r resending) Do(request *http.Request) (*http.Response, error) {
	if body, ok := request.Body.(*rewindable); ok {
		request.GetBody = func() (io.ReadCloser, error) { return newRewindable(body.from, body.Size()), nil }
	}
	return r.Client.Do(request)
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
// has to be in the repository. A digest in ref has to be that of raw. The error is a *fault.Error.
func (c *Client) PushManifest(ctx context.Context, ref, mediaType string, raw []byte, credentials Credentials) (digest.Digest, error) {
	t, err := c.locate(ref, credentials, false)
	if err != nil {
		return "", err
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	if d.Size > DefaultMaxManifest {
		return "", fail(ErrTooLarge, t.written, fmt.Sprintf("its manifest has %d bytes, more than the %d allowed", d.Size, DefaultMaxManifest),
			"make the artifact smaller")
	}
	as := t.at.Reference
	if wanted, err := t.at.Digest(); err == nil && wanted != d.Digest {
		return "", fail(ErrDigest, t.written, fmt.Sprintf("the manifest to push has the digest %s", d.Digest), "push it to a tag or to its own digest")
	}
	as = cmp.Or(as, d.Digest.String())
	err = c.repository(t).Manifests().PushReference(ctx, d, bytes.NewReader(raw), as)
	return d.Digest, t.explain(ctx, "upload its manifest", err)
}

// Exists reports whether the tag or digest of ref is a manifest of the repository. A registry that cannot be asked, or
// refuses the credentials, is a *fault.Error.
func (c *Client) Exists(ctx context.Context, ref string, credentials Credentials) (bool, error) {
	t, err := c.locate(ref, credentials, true)
	if err != nil {
		return false, err
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	_, err = c.head(ctx, t, manifestPart)
	if err != nil && refused(err) && !unauthorized(err) {
		return false, nil
	}
	return err == nil, t.explain(ctx, "look it up", err)
}
