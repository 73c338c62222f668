// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/store"
)

// CopyOptions are the logins of both sides of a copy.
type CopyOptions struct {
	// From and To are the caller's logins for the source and the destination.
	From, To Credentials
}

// maxCopied is how many manifests one copy may have.
const maxCopied = 256

// Copy copies the artifact from (with tag or digest) to the repository and, if it has one, the tag of to, byte by byte: the
// digest stays. Of an index all manifests are copied. What the destination has is not sent again, and within one
// registry nothing is. It returns the digest. The error is an *Error that names the side that failed.
func (c *Client) Copy(ctx context.Context, from, to string, o CopyOptions) (digest.Digest, error) {
	source, err := c.locate(from, o.From, true)
	if err != nil {
		return "", err
	}
	destination, err := c.locate(to, o.To, false)
	if err != nil {
		return "", err
	}
	source, found, err := c.resolve(ctx, source, c.headOf(manifestPart))
	if err != nil {
		return "", err
	}
	work := &copying{client: c, from: source, to: destination, credentials: o.To, done: map[digest.Digest]bool{}}
	return found.Digest, work.manifest(ctx, found.Descriptor, to, 0)
}

// copying is one call of Copy.
type copying struct {
	client      *Client
	from, to    target
	credentials Credentials
	done        map[digest.Digest]bool
}

// manifest copies a manifest or index after what it refers to, under the name as.
func (w *copying) manifest(ctx context.Context, at ocispec.Descriptor, as string, depth int) error {
	if depth > maxDepth || len(w.done) >= maxCopied {
		return invalid(w.from.written, fmt.Sprintf("it has more than %d manifests, or indexes more than %d deep in each other", maxCopied, maxDepth), "copy its parts one by one")
	}
	raw, d, err := w.client.document(ctx, w.from, at)
	if err != nil {
		return err
	}
	for _, child := range d.Manifests {
		if w.done[child.Digest] {
			continue
		}
		if err := w.manifest(ctx, child, w.to.repository(), depth+1); err != nil {
			return err
		}
	}
	if !d.isIndex() {
		if err := w.blobs(ctx, append([]ocispec.Descriptor{d.Config}, d.Layers...)); err != nil {
			return err
		}
	}
	w.done[at.Digest] = true
	_, err = w.client.PushManifest(ctx, as, at.MediaType, raw, w.credentials)
	return err
}

// repository is the reference without tag and digest, as the caller wrote it.
func (t target) repository() string {
	scheme, rest := splitScheme(t.written)
	if scheme != "" {
		scheme += "://"
	}
	at, err := registry.ParseReference(rest)
	if err != nil {
		return t.written
	}
	return scheme + at.Registry + "/" + at.Repository
}

func (w *copying) blobs(ctx context.Context, all []ocispec.Descriptor) error {
	for _, d := range all {
		if d.Digest == "" || w.done[d.Digest] {
			continue
		}
		if err := w.blob(ctx, d); err != nil {
			return err
		}
		w.done[d.Digest] = true
	}
	return nil
}

func (w *copying) blob(ctx context.Context, d ocispec.Descriptor) error {
	if err := w.from.acceptable(d, w.client.options.MaxContent, layerPart); err != nil {
		return err
	}
	ctx, cancel := w.client.transferring(ctx)
	defer cancel()
	there, err := w.client.repository(w.to).Blobs().Exists(ctx, d)
	if err != nil || there {
		return w.to.explain(ctx, "look for a blob", err)
	}
	if w.from.at.Registry == w.to.at.Registry && w.from.plain == w.to.plain {
		return w.mount(ctx, d)
	}
	file, err := w.client.open(ctx, w.from, d, w.client.options.MaxContent, layerPart)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return w.to.explain(ctx, "upload a blob", w.client.upload(ctx, w.to, d, file))
}

// mount lets the registry link the blob; one that cannot is given the content.
func (w *copying) mount(ctx context.Context, d ocispec.Descriptor) error {
	var file *store.File
	err := w.client.repository(w.to).Mount(ctx, d, w.from.at.Repository, func() (body io.ReadCloser, err error) {
		if file, err = w.client.open(ctx, w.from, d, w.client.options.MaxContent, layerPart); err != nil {
			return nil, err
		}
		return newRewindable(file, d.Size), nil
	})
	if file != nil {
		_ = file.Close()
	}
	return w.to.explain(ctx, "upload a blob", err)
}
