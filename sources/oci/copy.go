// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	layout "oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
)

// CopyOptions are the logins of both sides of a copy.
type CopyOptions struct {
	// From and To are the caller's logins for the source and the destination.
	From, To Credentials
}

// Copy copies the artifact from (with tag or digest) to the repository and, if it has one, the tag of to, byte by byte: the
// digest stays. Of an index all manifests are copied. What the destination has is not sent again, and within one
// registry nothing is. It returns the digest. The error is a *fault.Error that names the side that failed.
func (c *Client) Copy(ctx context.Context, from, to string, o CopyOptions) (digest.Digest, error) {
	source, found, err := c.find(ctx, from, o.From)
	if err != nil {
		return "", err
	}
	destination, err := c.locate(to, o.To, false)
	if err != nil {
		return "", err
	}
	tag := destination.at.Reference
	if tag != "" {
		if there, err := c.head(ctx, destination, manifestPart); err == nil && there.Digest == found.Digest {
			return found.Digest, nil
		}
	}
	options := oras.DefaultCopyGraphOptions
	options.FindSuccessors = distributable
	if source.at.Registry == destination.at.Registry && source.plain == destination.plain {
		options.MountFrom = func(context.Context, ocispec.Descriptor) ([]string, error) {
			return []string{source.at.Repository}, nil
		}
	}
	repository := c.repository(destination)
	err = oras.CopyGraph(ctx, reading{c, source}, repository, found.Descriptor, options)
	if err == nil && tag != "" {
		err = repository.Tag(ctx, found.Descriptor, tag)
	}
	if failed, ok := errors.AsType[*oras.CopyError](err); ok {
		if err = failed.Err; failed.Origin == oras.CopyErrorOriginSource {
			return "", source.explain(ctx, "copy it", err)
		}
	}
	return found.Digest, destination.explain(ctx, "copy to it", err)
}

// reading is an artifact as the client reads it: each part is verified before anybody sees it. It implements content.ReadOnlyStorage.
type reading struct {
	client *Client
	from   target
}

// Fetch opens a manifest or blob.
func (r reading) Fetch(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if isManifest(d.MediaType) {
		return r.client.open(ctx, r.from, d, DefaultMaxManifest, manifestPart)
	}
	ctx, cancel := r.client.transferring(ctx)
	defer cancel()
	return r.client.open(ctx, r.from, d, r.client.options.MaxContent, layerPart)
}

// Exists is not asked of what is read from.
func (reading) Exists(context.Context, ocispec.Descriptor) (bool, error) { return true, nil }

// distributable are the parts of a manifest or index that registries have.
func distributable(ctx context.Context, from content.Fetcher, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	parts, err := content.Successors(ctx, from, d)
	return slices.DeleteFunc(parts, elsewhere), err
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
	return p.client.opened(ctx, p.from, p.Descriptor, p.client.options.MaxContent)
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
func (c *Client) Top(ctx context.Context, ref string, credentials Credentials) (*Top, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	t, found, err := c.find(ctx, ref, credentials)
	if err != nil {
		return nil, err
	}
	raw, d, err := c.document(ctx, t, found.Descriptor)
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
func (c *Client) Walk(ctx context.Context, ref string, credentials Credentials, visit func(Part) error) (ocispec.Descriptor, error) {
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
	raw, d, err := w.client.document(ctx, w.from, at)
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
		if err := w.from.acceptable(blob, w.client.options.MaxContent, layerPart); err != nil {
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

// maxHauled is how many manifests one artifact may have together with all that refers to it.
const maxHauled = 4096

// signatureSuffixes end the tags by which signatures, attestations and bills of materials belong to the artifact whose digest the tag names, where they
// do not refer to it.
var signatureSuffixes = []string{".sig", ".att", ".sbom"}

// Layout is an OCI image layout in a directory. It holds artifacts of many registries, each under the name that it has there.
type Layout struct {
	dir   string
	store *layout.Store
}

// OpenLayout opens the layout in a directory, which is made where it does not exist.
func OpenLayout(dir string) (*Layout, error) {
	store, err := layout.New(dir)
	if err != nil {
		return nil, fmt.Errorf("%s is not an OCI image layout; name one, or a directory that is empty or does not exist: %w", dir, err)
	}
	return &Layout{dir: dir, store: store}, nil
}

// Names returns the names of the artifacts in the layout, as host/path with tag or digest.
func (l *Layout) Names(ctx context.Context) ([]string, error) {
	var names []string
	err := l.store.Tags(ctx, "", func(tags []string) error {
		names = append(names, tags...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the layout %s: %w", l.dir, err)
	}
	slices.Sort(names)
	return names, nil
}

// Saved is an artifact in a layout.
type Saved struct {
	// Name is as it is in the layout.
	Name string
	// Digest of the artifact.
	Digest digest.Digest
}

// Save copies the artifact ref (with tag or digest) into a layout, byte by byte: of an index all manifests, everything that refers to one of them,
// and signatures that belong to one by their tag. These come under names of their own behind the artifact. What the layout has is not fetched again.
func (c *Client) Save(ctx context.Context, ref string, into *Layout, credentials Credentials) ([]Saved, error) {
	t, err := c.locate(ref, credentials, true)
	if err != nil {
		return nil, err
	}
	written, err := ParseReference(ref)
	if err != nil {
		return nil, err
	}
	from := c.repository(t)
	found, err := from.Resolve(ctx, t.at.Reference)
	if err != nil {
		return nil, t.explain(ctx, "find the artifact", err)
	}
	carried := &haul{from: from, to: into.store, seen: map[digest.Digest]bool{}}
	if err := carried.manifest(ctx, found); err != nil {
		return nil, t.explain(ctx, "save the artifact", err)
	}
	home := written.Host + "/" + written.Path
	saved := []Saved{{home + "@" + found.Digest.String(), found.Digest}}
	if written.Tag != "" {
		saved[0].Name = home + ":" + written.Tag
	}
	if err := into.store.Tag(ctx, found, saved[0].Name); err != nil {
		return nil, fmt.Errorf("write the layout %s: %w", into.dir, err)
	}
	for _, signed := range slices.Sorted(maps.Keys(carried.seen)) {
		for _, suffix := range signatureSuffixes {
			tag := strings.Replace(signed.String(), ":", "-", 1) + suffix
			signature, err := from.Resolve(ctx, tag)
			if errors.Is(err, errdef.ErrNotFound) {
				continue
			}
			if err == nil {
				err = carried.manifest(ctx, signature)
			}
			if err == nil {
				err = into.store.Tag(ctx, signature, home+":"+tag)
			}
			if err != nil {
				return nil, t.explain(ctx, "save the signature "+tag, err)
			}
			saved = append(saved, Saved{home + ":" + tag, signature.Digest})
		}
	}
	return saved, nil
}

// Load copies the artifact of that name from a layout, with everything that refers to it, to the same path and tag below base (host or host/path). It
// returns the reference by digest there.
func (c *Client) Load(ctx context.Context, from *Layout, name, base string, credentials Credentials) (string, error) {
	found, err := from.store.Resolve(ctx, name)
	if err != nil {
		return "", fmt.Errorf("the layout %s has no artifact %q: %w", from.dir, name, err)
	}
	written, err := ParseReference(name)
	if err != nil {
		return "", err
	}
	repository := strings.TrimSuffix(base, "/") + "/" + written.Path
	t, err := c.locate(repository, credentials, false)
	if err != nil {
		return "", err
	}
	to := c.repository(t)
	carried := &haul{from: from.store, to: to, seen: map[digest.Digest]bool{}}
	if err := carried.manifest(ctx, found); err != nil {
		return "", t.explain(ctx, "load the artifact "+name, err)
	}
	if written.Tag != "" {
		if err := to.Tag(ctx, found, written.Tag); err != nil {
			return "", t.explain(ctx, "tag the artifact "+name, err)
		}
	}
	_, plain := splitScheme(repository)
	return plain + "@" + found.Digest.String(), nil
}

// haul copies artifacts with all that refers to them.
type haul struct {
	from content.ReadOnlyGraphStorage
	to   content.Storage
	seen map[digest.Digest]bool
}

func (h *haul) manifest(ctx context.Context, at ocispec.Descriptor) error {
	if h.seen[at.Digest] {
		return nil
	}
	if h.seen[at.Digest] = true; len(h.seen) > maxHauled {
		return fmt.Errorf("it has more than %d manifests with those that refer to it", maxHauled)
	}
	if err := oras.CopyGraph(ctx, h.from, h.to, at, oras.DefaultCopyGraphOptions); err != nil {
		return err
	}
	parts, err := content.Successors(ctx, h.from, at)
	if err != nil {
		return err
	}
	referrers, err := registry.Referrers(ctx, h.from, at, "")
	if err != nil {
		return err
	}
	for _, next := range slices.Concat(parts, referrers) {
		if !isManifest(next.MediaType) {
			continue
		}
		if err := h.manifest(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// isManifest reports whether a media type is one of manifests and indexes.
func isManifest(mediaType string) bool {
	switch mediaType {
	case ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex, dockerManifest, dockerList, ociArtifact:
		return true
	}
	return false
}
