// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

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
func (c *Client) Save(ctx context.Context, ref string, into *Layout, credentials keychain.Credentials) ([]Saved, error) {
	t, err := c.registries.locate(ref, credentials, true)
	if err != nil {
		return nil, err
	}
	written, err := ParseReference(ref)
	if err != nil {
		return nil, err
	}
	from := c.registries.repository(t)
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
func (c *Client) Load(ctx context.Context, from *Layout, name, base string, credentials keychain.Credentials) (string, error) {
	found, err := from.store.Resolve(ctx, name)
	if err != nil {
		return "", fmt.Errorf("the layout %s has no artifact %q: %w", from.dir, name, err)
	}
	written, err := ParseReference(name)
	if err != nil {
		return "", err
	}
	repository := strings.TrimSuffix(base, "/") + "/" + written.Path
	t, err := c.registries.locate(repository, credentials, false)
	if err != nil {
		return "", err
	}
	to := c.registries.repository(t)
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
	case ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex,
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json":
		return true
	}
	return false
}
