// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// Builder makes component versions.
type Builder struct {
	// Dir is the directory of the constructor, to which paths are relative.
	Dir string
	// Workspace keeps the blobs; they can be read until it is closed.
	Workspace *publishing.Workspace
	// Digest returns the digest of the OCI artifact behind a reference; nil leaves digests of such resources out.
	Digest func(ctx context.Context, reference string) (digest.Digest, error)
	// Repository is added as repository context; zero adds none.
	Repository component.Typed
	// Registry has the OCI artifacts, and reaches the Helm repositories and web servers, that inputs name.
	Registry publishing.Registry
	// Base is host and path of the registry that OCI artifacts of inputs go to, next to the component versions. Empty means that they become
	// blobs of them.
	Base string
	// Artifacts are to be copied to Base before the component versions built so far are published.
	Artifacts []*Artifact
}

// Build makes one component version. Errors name component, resource and cure.
func (b *Builder) Build(ctx context.Context, c *Component) (component.Version, error) {
	v := version{builder: b, component: c, known: map[digest.Digest]bool{}}
	d, err := v.descriptor(ctx)
	if err != nil {
		return component.Version{}, fmt.Errorf("component %s:%s: %w", c.Name, c.Version, err)
	}
	if err := errors.Join(d.Validate(), d.CheckNames()); err != nil {
		return component.Version{}, fmt.Errorf("component %s:%s: %w", c.Name, c.Version, err)
	}
	return component.Version{Descriptor: d, Blobs: v.blobs}, nil
}

// version is one component version in the making.
type version struct {
	builder   *Builder
	component *Component
	blobs     []component.Content
	known     map[digest.Digest]bool
}

func (v *version) descriptor(ctx context.Context) (*component.Descriptor, error) {
	c := v.component
	d := &component.Descriptor{
		Schema: c.Meta.schema(), Name: c.Name, Version: c.Version, CreationTime: c.CreationTime,
		Provider: component.Provider{Name: c.Provider.Name},
	}
	if !v.builder.Repository.IsZero() {
		d.RepositoryContexts = []component.Typed{v.builder.Repository}
	}
	var err error
	if d.Labels, err = labels(c.Labels); err != nil {
		return nil, err
	}
	if d.Provider.Labels, err = labels(c.Provider.Labels); err != nil {
		return nil, err
	}
	if err := v.resources(ctx, d); err != nil {
		return nil, err
	}
	if err := v.sources(ctx, d); err != nil {
		return nil, err
	}
	return d, v.references(d)
}

func (v *version) resources(ctx context.Context, d *component.Descriptor) error {
	for i := range v.component.Resources {
		r := &v.component.Resources[i]
		element, err := v.element(r.Element)
		if err != nil {
			return err
		}
		found, err := v.content(ctx, r)
		if err != nil {
			return fmt.Errorf("resource %s: %w", r.Name, err)
		}
		made := component.Resource{Element: element, Type: r.Type, Relation: r.relation(), Access: found.access, Digest: found.digest}
		for _, ref := range slices.Concat(r.SourceRefs, r.SrcRefs) {
			refLabels, err := labels(ref.Labels)
			if err != nil {
				return err
			}
			made.SourceRefs = append(made.SourceRefs, component.SourceRef{IdentitySelector: ref.IdentitySelector, Labels: refLabels})
		}
		d.Resources = append(d.Resources, made)
	}
	return nil
}

// relation is local for what was built from here, by default.
func (r *Resource) relation() string {
	if r.Relation == "" && r.Access != nil {
		return component.RelationExternal
	}
	return cmp.Or(r.Relation, component.RelationLocal)
}

func (v *version) sources(ctx context.Context, d *component.Descriptor) error {
	for i := range v.component.Sources {
		s := &v.component.Sources[i]
		element, err := v.element(s.Element)
		if err != nil {
			return err
		}
		found, err := v.content(ctx, s)
		if err != nil {
			return fmt.Errorf("source %s: %w", s.Name, err)
		}
		d.Sources = append(d.Sources, component.Source{Element: element, Type: s.Type, Access: found.access})
	}
	return nil
}

func (v *version) references(d *component.Descriptor) error {
	for _, r := range slices.Concat(v.component.ComponentReferences, v.component.References) {
		element, err := v.element(r.Element)
		if err != nil {
			return err
		}
		d.References = append(d.References, component.Reference{Element: element, ComponentName: r.ComponentName})
	}
	return nil
}

func (v *version) element(e Element) (component.Element, error) {
	l, err := labels(e.Labels)
	return component.Element{Name: e.Name, Version: cmp.Or(e.Version, v.component.Version), ExtraIdentity: e.ExtraIdentity, Labels: l}, err
}

func labels(in []Label) ([]component.Label, error) {
	var out []component.Label
	for _, l := range in {
		made := component.Label{Name: l.Name, Version: l.Version, Signing: l.Signing}
		value, err := decodeExact(l.Value)
		if err != nil {
			return nil, fmt.Errorf("label %s: %w", l.Name, err)
		}
		made.Value = value
		if len(l.Merge) > 0 {
			merge, err := decodeExact(l.Merge)
			if err != nil {
				return nil, fmt.Errorf("label %s: merge: %w", l.Name, err)
			}
			made.Extra = map[string]any{"merge": merge}
		}
		out = append(out, made)
	}
	return out, nil
}

// content returns the access to a resource and its digest, if there is one.
func (v *version) content(ctx context.Context, r *Resource) (*content, error) {
	if r.Input != nil {
		return v.input(ctx, r)
	}
	access, err := component.ParseAccess(*r.Access)
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	out := &content{access: *r.Access}
	if v.builder.Digest == nil || r.Options.SkipDigestGeneration {
		return out, nil
	}
	switch a := access.(type) {
	case component.OCIArtifact:
		found, err := v.builder.Digest(ctx, normalReference(a.ImageReference))
		if err != nil {
			return nil, fmt.Errorf("the digest of the artifact cannot be found: %w; add --skip-digest-generation to publish without digests of foreign artifacts", err)
		}
		out.digest = component.NewDigest(component.OCIArtifactDigest, found.Encoded())
	case component.HelmChart, component.Web, component.OCIBlob:
		h := sha256.New()
		if err := v.fetch(ctx, r, *r.Access, h); err != nil {
			return nil, fmt.Errorf("the digest of the content cannot be found: %w; add --skip-digest-generation to publish without digests of foreign content", err)
		}
		out.digest = component.NewDigest(component.GenericBlobDigest, hex.EncodeToString(h.Sum(nil)))
	}
	return out, nil
}

// keep adds a local blob.
func (v *version) keep(mediaType string, write func(io.Writer) error) (*content, error) {
	d, err := v.hold(mediaType, write)
	if err != nil {
		return nil, err
	}
	return accessTo(component.NewDigest(component.GenericBlobDigest, d.Encoded()), map[string]any{
		"type": "localBlob", "localReference": d.String(), "mediaType": mediaType,
	})
}

// hold adds a blob to those of the version, once.
func (v *version) hold(mediaType string, write func(io.Writer) error) (digest.Digest, error) {
	blob, err := v.builder.Workspace.Keep(write)
	if err != nil {
		return "", err
	}
	if !v.known[blob.Digest] {
		v.known[blob.Digest] = true
		v.blobs = append(v.blobs, component.Content{MediaType: mediaType, Digest: blob.Digest, Size: blob.Size, Data: blob.Content})
	}
	return blob.Digest, nil
}

func decodeExact(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var out any
	err := decoder.Decode(&out)
	return out, err
}
