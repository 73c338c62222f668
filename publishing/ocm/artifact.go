// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// artifact takes over an OCI artifact with all its parts.
func (v *version) artifact(ctx context.Context, r *Resource, written string) (*content, error) {
	if written == "" {
		return nil, errors.New("path is missing; write the reference of the artifact, such as registry.example.com/shop:1.0.0")
	}
	ref, err := oci.ParseReference(normalReference(written))
	if err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	found, err := findArtifact(ctx, v.builder.Registry, normalReference(written), r.Input.Platforms)
	if err != nil {
		return nil, err
	}
	if err := v.rename(r, found, ref); err != nil {
		return nil, err
	}
	return v.takeOver(ctx, found, ref)
}

// variants takes over an image, or makes one of several for one platform each.
func (v *version) variants(ctx context.Context, r *Resource) (*content, error) {
	switch len(r.Input.Variants) {
	case 0:
		return nil, errors.New("variants is missing; list the references of images in registries")
	case 1:
		return v.artifact(ctx, r, r.Input.Variants[0])
	}
	var refs []string
	for _, written := range r.Input.Variants {
		refs = append(refs, normalReference(written))
	}
	ref, err := oci.ParseReference(refs[0])
	if err != nil {
		return nil, fmt.Errorf("variants: %w", err)
	}
	made, err := combine(ctx, v.builder.Registry, refs)
	if err != nil {
		return nil, err
	}
	ref.Tag, ref.Digest = "", "" // they are those of one variant
	if err := v.rename(r, made, ref); err != nil {
		return nil, err
	}
	return v.takeOver(ctx, made, ref)
}

// rename decides how the artifact is called next to the component version: as it is called at its place, or as the author says. What has
// no tag gets the version of the resource for one, since registries throw away what has none.
func (v *version) rename(r *Resource, a *Artifact, from oci.Reference) error {
	a.Repository, a.Tag = from.Path, cmp.Or(from.Tag, component.Tag(cmp.Or(r.Version, v.component.Version)))
	if hint := r.Input.Repository; hint != "" {
		to, err := oci.ParseReference(from.Host + "/" + v.hinted(hint))
		if err != nil || to.Digest != "" {
			return fmt.Errorf("repository %q is not a valid name of a repository; write it in lower case like team/shop, with or without :tag", hint)
		}
		a.Repository, a.Tag = to.Path, cmp.Or(to.Tag, a.Tag)
	}
	if _, err := oci.ParseReference(from.Host + "/" + a.Name()); err != nil {
		return fmt.Errorf("artifact %s has no usable name; set repository to a name with :tag: %w", a.Name(), err)
	}
	if first, _, _ := strings.Cut(a.Repository, "/"); first == componentsFolder {
		return fmt.Errorf("artifact %s would lie among the component versions; set repository to another name", a.Name())
	}
	return nil
}

// componentsFolder is where component versions lie in a registry.
const componentsFolder = "component-descriptors"

func (v *version) hinted(hint string) string {
	if absolute, found := strings.CutPrefix(hint, "/"); found {
		return absolute
	}
	return path.Join(v.component.Name, hint)
}

// takeOver adds the artifact to what is published next to the version, or to its blobs.
func (v *version) takeOver(ctx context.Context, a *Artifact, from oci.Reference) (*content, error) {
	if a.Digest.Algorithm().String() != "sha256" {
		return nil, fmt.Errorf("artifact %s has the digest %s; only sha256 is supported, so push it anew", from.Repository(), a.Digest)
	}
	spec := component.NewDigest(component.OCIArtifactDigest, a.Digest.Encoded())
	if v.builder.Base != "" {
		if err := v.builder.plan(a); err != nil {
			return nil, err
		}
		return accessTo(spec, map[string]any{"type": "ociArtifact", "imageReference": v.builder.reference(a, from)})
	}
	// It is kept in a blob, with its name for tools that publish it as an artifact again.
	mediaType := component.SetMediaType(a.MediaType)
	d, err := v.hold(mediaType, func(w io.Writer) error { return a.WriteSet(ctx, v.builder.Registry, w) })
	if err != nil {
		return nil, err
	}
	return accessTo(spec, map[string]any{"type": "localBlob", "localReference": d.String(), "mediaType": mediaType, "referenceName": a.Name()})
}

// plan notes an artifact to copy, once.
func (b *Builder) plan(a *Artifact) error {
	same := slices.IndexFunc(b.Artifacts, func(other *Artifact) bool { return other.Name() == a.Name() })
	if same < 0 {
		b.Artifacts = append(b.Artifacts, a)
		return nil
	}
	if b.Artifacts[same].Digest != a.Digest {
		return fmt.Errorf("two artifacts would be called %s: %s and %s; set repository in one of their inputs", a.Name(), b.Artifacts[same].Digest, a.Digest)
	}
	return nil
}

// reference is the new reference, with a tag or digest as the author had written the old one: templates of blueprints take it apart. At a
// registry without TLS it keeps http://, as the OCM tools have it, since nothing else tells a reader so.
func (b *Builder) reference(a *Artifact, from oci.Reference) string {
	out := strings.TrimPrefix(b.Base, "https://") + "/" + a.Repository
	if from.Tag != "" || from.Digest == "" {
		out += ":" + a.Tag
	}
	if from.Digest != "" {
		out += "@" + a.Digest.String()
	}
	return out
}

// normalReference adds what people leave out of references to images of Docker Hub, and the tag latest.
func normalReference(reference string) string {
	reference = strings.TrimPrefix(reference, "oci://")
	if strings.Contains(reference, "://") {
		return reference
	}
	host, rest, found := strings.Cut(reference, "/")
	switch {
	case !found:
		reference = "docker.io/library/" + reference
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		reference = "docker.io/" + host + "/" + rest
	}
	if last := reference[strings.LastIndex(reference, "/"):]; !strings.ContainsAny(last, ":@") {
		reference += ":latest"
	}
	return reference
}

// Artifact is an OCI artifact to take over, found and not yet copied.
type Artifact struct {
	// Parts are references by digest: to the artifact, or to the manifests of Index.
	Parts []string
	// Index was made here of Parts; nil for an artifact that is taken over as it is.
	Index []byte
	// MediaType and Digest of the manifest or index.
	MediaType string
	Digest    digest.Digest
	// Repository and Tag are its new name, below the repository of the component versions.
	Repository, Tag string
}

// Name is Repository:Tag.
func (a *Artifact) Name() string { return a.Repository + ":" + a.Tag }

// findArtifact looks up what ref (with tag or digest) stands for. Platforms, written os/architecture where either may be empty, choose from an
// index; none means all.
func findArtifact(ctx context.Context, r publishing.Registry, ref string, platforms []string) (*Artifact, error) {
	if err := checkPlatforms(platforms); err != nil {
		return nil, err
	}
	top, err := r.Client.Top(ctx, ref, r.Credentials)
	if err != nil {
		return nil, err
	}
	if top.Index && len(platforms) > 0 {
		return chosen(ref, top, platforms)
	}
	part, err := pinned(ref, top.Digest)
	if err != nil {
		return nil, err
	}
	return &Artifact{Parts: []string{part}, MediaType: top.MediaType, Digest: top.Digest}, nil
}

// pinned is the reference by digest to something in the repository of ref.
func pinned(ref string, d digest.Digest) (string, error) {
	at, err := oci.ParseReference(ref)
	return at.Repository() + "@" + d.String(), err
}

// CopyTo copies the artifact to its name below base (host/path), with all its parts, and tags it at last. An artifact that is there under
// this name is left alone, which unchanged tells; another one is an error, unless overwrite is set.
func (a *Artifact) CopyTo(ctx context.Context, r publishing.Registry, base string, overwrite bool) (unchanged bool, err error) {
	ref := base + "/" + a.Name()
	there, err := r.Client.Resolve(ctx, ref, r.Credentials)
	switch {
	case err != nil && !errors.Is(err, oci.ErrNotFound):
		return false, err
	case there.Digest == a.Digest:
		return true, nil
	case there.Digest != "" && !overwrite:
		return false, fmt.Errorf("artifact %s exists with other content (%s); set repository in the input to another name, or add --overwrite", ref, there.Digest)
	}
	return false, a.send(ctx, r, base)
}

func (a *Artifact) send(ctx context.Context, r publishing.Registry, base string) error {
	to, logins := base+"/"+a.Name(), oci.CopyOptions{From: r.Credentials, To: r.Credentials}
	if a.Index == nil {
		_, err := r.Client.Copy(ctx, a.Parts[0], to, logins)
		return err
	}
	for _, part := range a.Parts {
		if _, err := r.Client.Copy(ctx, part, base+"/"+a.Repository, logins); err != nil {
			return err
		}
	}
	_, err := r.Client.PushManifest(ctx, to, a.MediaType, a.Index, r.Credentials)
	return err
}

// WriteSet writes the artifact with all its parts as the blob that component versions keep it in, see component.SetWriter.
func (a *Artifact) WriteSet(ctx context.Context, r publishing.Registry, w io.Writer) error {
	set, err := component.NewSetWriter(w)
	if err != nil {
		return err
	}
	for _, part := range a.Parts {
		_, err := r.Client.Walk(ctx, part, r.Credentials, func(p oci.Part) error { return add(ctx, set, p) })
		if err != nil {
			return err
		}
	}
	if a.Index != nil {
		made := ocispec.Descriptor{MediaType: a.MediaType, Digest: a.Digest, Size: int64(len(a.Index))}
		if err := set.Manifest(made, a.Index); err != nil {
			return err
		}
	}
	return set.Close(a.Tag)
}

func add(ctx context.Context, set *component.SetWriter, p oci.Part) error {
	if p.Raw != nil {
		return set.Manifest(p.Descriptor, p.Raw)
	}
	content, err := p.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	return set.Blob(p.Descriptor, content)
}

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
			names = append(names, platformName(*m.Platform))
		}
	}
	return cmp.Or(strings.Join(names, ", "), "no platform at all")
}

func platformName(p ocispec.Platform) string {
	return strings.TrimSuffix(p.OS+"/"+p.Architecture+"/"+p.Variant, "/")
}

// combine makes one index of images for one platform each, in the order of refs.
func combine(ctx context.Context, r publishing.Registry, refs []string) (*Artifact, error) {
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
		if same := slices.IndexFunc(index.Manifests, func(d ocispec.Descriptor) bool { return platformName(*d.Platform) == platformName(*entry.Platform) }); same >= 0 {
			return nil, fmt.Errorf("variants %s and %s are both for %s; keep one of them", refs[same], ref, platformName(*entry.Platform))
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
