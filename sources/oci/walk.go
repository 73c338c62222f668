// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// Part is a manifest, an index or a blob of an artifact.
type Part struct {
	// Descriptor is what the artifact says of the part.
	ocispec.Descriptor
	// Raw is the manifest or index as the registry has it; nil for a blob.
	Raw []byte
	// Top says that it is the manifest or index of the whole artifact.
	Top bool

	client *Client
	from   target
}

// Open returns a blob, verified and on disk. The caller closes it. The error is a *fault.Error.
func (p Part) Open(ctx context.Context) (*Content, error) {
	ctx, cancel := p.client.registries.transferring(ctx)
	defer cancel()
	file, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	return newContent(file, p.Descriptor), nil
}

func (p Part) open(ctx context.Context) (*fetch.File, error) {
	return p.client.cache.open(ctx, p.from, p.Descriptor, p.client.registries.options.MaxContent, layerPart)
}

// Top is the manifest or index that a reference stands for, as the registry has it.
type Top struct {
	ocispec.Descriptor
	// Raw is its text. It must not be changed.
	Raw []byte
	// Manifests are the entries of an index.
	Manifests []ocispec.Descriptor
	// Index reports whether it is one.
	Index bool
}

// Top returns what ref (with tag or digest) stands for, without choosing from an index. The error is a *fault.Error.
func (c *Client) Top(ctx context.Context, ref string, credentials keychain.Credentials) (*Top, error) {
	ctx, cancel := c.registries.limited(ctx)
	defer cancel()
	t, found, err := c.find(ctx, ref, credentials, c.cache.readUnknown)
	if err != nil {
		return nil, err
	}
	raw, d, err := c.cache.document(ctx, t, found.Descriptor)
	if err != nil {
		return nil, err
	}
	at := ocispec.Descriptor{MediaType: found.MediaType, Digest: found.Digest, Size: int64(len(raw))}
	return &Top{Descriptor: at, Raw: raw, Manifests: d.Manifests, Index: d.isIndex()}, nil
}

// maxManifests is how many manifests an artifact may have that is walked.
const maxManifests = 256

// Walk shows visit everything that the artifact ref (with tag or digest) consists of, each once: what a manifest refers to
// before the manifest, and of an index all manifests. A blob is downloaded when visit opens it. Layers that registries
// need not have, since they name the URL where they are, are left out. It returns what ref stands for. The error is a
// *fault.Error, or that of visit.
func (c *Client) Walk(ctx context.Context, ref string, credentials keychain.Credentials, visit func(Part) error) (ocispec.Descriptor, error) {
	t, found, err := c.find(ctx, ref, credentials, c.registries.headOf(manifestPart))
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	w := &walking{client: c, from: t, visit: visit, seen: map[digest.Digest]bool{}}
	return found.Descriptor, w.manifest(ctx, found.Descriptor, 0)
}

// walking is one call of Walk.
type walking struct {
	client    *Client
	from      target
	visit     func(Part) error
	seen      map[digest.Digest]bool
	manifests int
}

func (w *walking) manifest(ctx context.Context, at ocispec.Descriptor, depth int) error {
	if w.seen[at.Digest] {
		return nil
	}
	if w.manifests++; depth > maxDepth || w.manifests > maxManifests {
		return invalid(w.from.written, fmt.Sprintf("it has more than %d manifests, or indexes more than %d deep in each other", maxManifests, maxDepth), "copy its parts one by one")
	}
	raw, d, err := w.client.cache.document(ctx, w.from, at)
	if err != nil {
		return err
	}
	w.seen[at.Digest] = true
	for _, child := range d.Manifests {
		if err := w.manifest(ctx, child, depth+1); err != nil {
			return err
		}
	}
	if err := w.blobs(d); err != nil {
		return err
	}
	return w.visit(Part{Descriptor: at, Raw: raw, Top: depth == 0, client: w.client, from: w.from})
}

func (w *walking) blobs(d *document) error {
	if d.isIndex() {
		return nil
	}
	for _, blob := range append([]ocispec.Descriptor{d.Config}, d.Layers...) {
		if blob.Digest == "" || w.seen[blob.Digest] || elsewhere(blob) {
			continue
		}
		if err := w.from.acceptable(blob, w.client.registries.options.MaxContent, layerPart); err != nil {
			return err
		}
		w.seen[blob.Digest] = true
		if err := w.visit(Part{Descriptor: blob, client: w.client, from: w.from}); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere reports whether a layer is not for registries to hand out, as base layers of Windows are not.
func elsewhere(d ocispec.Descriptor) bool {
	return len(d.URLs) > 0 && (strings.Contains(d.MediaType, "nondistributable") || strings.Contains(d.MediaType, "foreign"))
}
