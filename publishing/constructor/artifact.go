// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package constructor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/component/formats"
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
	mediaType := formats.SetMediaType(a.MediaType)
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
