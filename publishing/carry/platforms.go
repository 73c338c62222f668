// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// chosen is the index ref with the entries for some platforms only. Everything else of it stays, so that equal choices have equal digests.
func chosen(ref string, top *oci.Top, platforms []string) (*Artifact, error) {
	index := map[string]json.RawMessage{}
	var entries, kept []json.RawMessage
	if err := json.Unmarshal(top.Raw, &index); err != nil {
		return nil, fmt.Errorf("index %s cannot be read: %w; push it anew", ref, err)
	}
	if err := json.Unmarshal(index["manifests"], &entries); err != nil || len(entries) != len(top.Manifests) {
		return nil, fmt.Errorf("index %s has no readable list of manifests; push it anew", ref)
	}
	var parts []string
	for i, entry := range top.Manifests {
		if !wanted(entry.Platform, platforms) {
			continue
		}
		part, err := pinned(ref, entry.Digest)
		if err != nil {
			return nil, err
		}
		kept, parts = append(kept, entries[i]), append(parts, part)
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("index %s has nothing for platforms %v, but for %s; correct platforms", ref, platforms, available(top.Manifests))
	}
	list, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	index["manifests"] = list
	return indexed(index, top.MediaType, parts)
}

func indexed(index any, mediaType string, parts []string) (*Artifact, error) {
	raw, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	return &Artifact{Parts: parts, Index: raw, MediaType: mediaType, Digest: digest.FromBytes(raw)}, nil
}

// wanted reports whether a platform is among os/architecture or os/architecture/variant, in which what is empty stands for any.
func wanted(p *ocispec.Platform, platforms []string) bool {
	if p == nil {
		return false
	}
	has := []string{p.OS, p.Architecture, p.Variant}
	return slices.ContainsFunc(platforms, func(pattern string) bool {
		wants := strings.Split(pattern, "/")
		for i, want := range wants {
			if i >= len(has) || want != "" && want != has[i] {
				return false
			}
		}
		return true
	})
}

// checkPlatforms refuses patterns that fit nothing whatever an index has.
func checkPlatforms(platforms []string) error {
	for _, pattern := range platforms {
		if steps := strings.Count(pattern, "/"); steps < 1 || steps > 2 {
			return fmt.Errorf("platforms: %q is not a platform; write os/architecture, such as linux/arm64", pattern)
		}
	}
	return nil
}

func available(manifests []ocispec.Descriptor) string {
	const most = 20
	var names []string
	for _, m := range manifests {
		if m.Platform != nil && len(names) < most {
			names = append(names, name(*m.Platform))
		}
	}
	return cmp.Or(strings.Join(names, ", "), "no platform at all")
}

func name(p ocispec.Platform) string {
	return strings.TrimSuffix(p.OS+"/"+p.Architecture+"/"+p.Variant, "/")
}

// Combine makes one index of images for one platform each, in the order of refs.
func Combine(ctx context.Context, r publishing.Registry, refs []string) (*Artifact, error) {
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	var parts []string
	for _, ref := range refs {
		entry, err := variant(ctx, r, ref)
		if err != nil {
			return nil, err
		}
		part, err := pinned(ref, entry.Digest)
		if err != nil {
			return nil, err
		}
		if same := slices.IndexFunc(index.Manifests, func(d ocispec.Descriptor) bool { return name(*d.Platform) == name(*entry.Platform) }); same >= 0 {
			return nil, fmt.Errorf("variants %s and %s are both for %s; keep one of them", refs[same], ref, name(*entry.Platform))
		}
		index.Manifests, parts = append(index.Manifests, entry), append(parts, part)
	}
	return indexed(index, index.MediaType, parts)
}

// maxConfig is how many bytes the config of an image may have.
const maxConfig = 4 << 20

// variant is the entry of an index for an image, with the platform that its config says.
func variant(ctx context.Context, r publishing.Registry, ref string) (ocispec.Descriptor, error) {
	top, err := r.Client.Top(ctx, ref, r.Credentials)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if top.Index {
		return ocispec.Descriptor{}, fmt.Errorf("variant %s has several platforms already; name it alone, with type ociImage", ref)
	}
	m, err := r.Client.Manifest(ctx, ref, r.Credentials)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	config, err := m.Blob(ctx, m.Config.Digest, maxConfig)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	var platform ocispec.Platform
	if err := json.Unmarshal(config, &platform); err != nil || platform.OS == "" || platform.Architecture == "" {
		return ocispec.Descriptor{}, fmt.Errorf("variant %s does not say for which os and architecture it is; name images that were built for one platform", ref)
	}
	return ocispec.Descriptor{MediaType: top.MediaType, Digest: top.Digest, Size: top.Size, Platform: &platform}, nil
}
