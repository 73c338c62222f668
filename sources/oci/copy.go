// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// CopyOptions are the logins of both sides of a copy.
type CopyOptions struct {
	// From and To are the caller's logins for the source and the destination.
	From, To keychain.Credentials
}

// Copy copies the artifact from (with tag or digest) to the repository and, if it has one, the tag of to, byte by byte: the
// digest stays. Of an index all manifests are copied. What the destination has is not sent again, and within one
// registry nothing is. It returns the digest. The error is a *fault.Error that names the side that failed.
func (c *Client) Copy(ctx context.Context, from, to string, o CopyOptions) (digest.Digest, error) {
	destination, err := c.registries.locate(to, o.To, false)
	if err != nil {
		return "", err
	}
	work := &copying{client: c, to: destination, credentials: o.To}
	found, err := c.Walk(ctx, from, o.From, func(p Part) error {
		if p.Raw == nil {
			return work.blob(ctx, p)
		}
		return work.manifest(ctx, p)
	})
	return found.Digest, err
}

// copying is one call of Copy.
type copying struct {
	client      *Client
	to          target
	credentials keychain.Credentials
}

// manifest sends a manifest or index, under the name of the whole where it is that.
func (w *copying) manifest(ctx context.Context, p Part) error {
	at, as := w.to, w.to.written
	if !p.Top {
		at.at.Reference, as = "", w.to.repository()
	}
	at.at.Reference = cmp.Or(at.at.Reference, p.Digest.String())
	if w.has(ctx, at, p.Digest) {
		return nil
	}
	_, err := w.client.PushManifest(ctx, as, p.MediaType, p.Raw, w.credentials)
	return err
}

// has goes by the answer of the destination alone; whoever does not say is sent the manifest, and says then what is wrong.
func (w *copying) has(ctx context.Context, at target, d digest.Digest) bool {
	ctx, cancel := w.client.registries.limited(ctx)
	defer cancel()
	there, err := w.client.registries.head(ctx, at, manifestPart)
	return err == nil && there.Digest == d
}

// repository is the reference without tag and digest, as the caller wrote it.
func (t target) repository() string {
	at, err := ParseReference(t.written)
	if err != nil {
		return t.written
	}
	return at.Repository()
}

func (w *copying) blob(ctx context.Context, p Part) error {
	ctx, cancel := w.client.registries.transferring(ctx)
	defer cancel()
	there, err := w.client.registries.repository(w.to).Blobs().Exists(ctx, p.Descriptor)
	if err != nil || there {
		return w.to.explain(ctx, "look for a blob", err)
	}
	if p.from.at.Registry == w.to.at.Registry && p.from.plain == w.to.plain {
		return w.mount(ctx, p)
	}
	file, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return w.to.explain(ctx, "upload a blob", w.client.registries.upload(ctx, w.to, p.Descriptor, file))
}

// mount lets the registry link the blob; one that cannot is given the content.
func (w *copying) mount(ctx context.Context, p Part) error {
	var file *fetch.File
	err := w.client.registries.repository(w.to).Mount(ctx, p.Descriptor, p.from.at.Repository, func() (body io.ReadCloser, err error) {
		if file, err = p.open(ctx); err != nil {
			return nil, err
		}
		return newRewindable(file, p.Size), nil
	})
	if file != nil {
		_ = file.Close()
	}
	return w.to.explain(ctx, "upload a blob", err)
}

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
	return p.client.cache.opened(ctx, p.from, p.Descriptor, p.client.registries.options.MaxContent)
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
	t, found, err := c.find(ctx, ref, credentials)
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
	t, found, err := c.find(ctx, ref, credentials)
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
