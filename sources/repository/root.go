// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// Root is the component version of an Installation.
type Root struct {
	// Descriptor of the component version.
	Descriptor *component.Descriptor
	// Definition is the spec.componentDescriptor in effect: with the default repository, and after overwrites.
	Definition v1alpha1.ComponentDescriptorDefinition
	// Repository is where the component and, by default, its references are looked for; zero if there is none.
	Repository component.Typed
	// Overwrite is a textual diff of the reference before and after overwrites; empty if there was none.
	Overwrite string
}

// Root finds the component version that a spec.componentDescriptor names: by reference, written inline, or in a Flux source.
// Errors have a fault.Kind.
func (s *Session) Root(ctx context.Context, definition v1alpha1.ComponentDescriptorDefinition) (*Root, error) {
	root, err := s.root(ctx, definition)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start = root.Repository
	return root, nil
}

func (s *Session) root(ctx context.Context, definition v1alpha1.ComponentDescriptorDefinition) (*Root, error) {
	switch {
	case definition.Reference != nil:
		return s.byReference(ctx, *definition.Reference)
	case definition.Inline != nil:
		return s.inline(definition)
	case definition.SourceReference != nil:
		return s.bySource(ctx, definition)
	}
	return nil, stalled("componentDescriptor", "it is empty", "set ref, inline or sourceRef")
}

func (s *Session) byReference(ctx context.Context, ref v1alpha1.ComponentDescriptorReference) (*Root, error) {
	repository, err := typed("componentDescriptor.ref.repositoryContext", ref.RepositoryContext)
	if err != nil {
		return nil, err
	}
	if repository.IsZero() {
		if repository, err = s.scope.defaultRepository(); err != nil {
			return nil, err
		}
	}
	written := component.Location{Repository: repository, Key: component.Key{Name: ref.ComponentName, Version: ref.Version}}
	at, diff, err := s.overwrites.Apply(written)
	if err != nil {
		return nil, refused("componentVersionOverwrites", err)
	}
	v, err := s.lookup(ctx, at.Key, at.Repository)
	if err != nil {
		return nil, err
	}
	effective := v1alpha1.ComponentDescriptorReference{ComponentName: at.Key.Name, Version: at.Key.Version, RepositoryContext: anyJSON(at.Repository)}
	return &Root{Descriptor: s.remember(v), Repository: at.Repository, Overwrite: diff,
		Definition: v1alpha1.ComponentDescriptorDefinition{Reference: &effective}}, nil
}

// defaultRepository is the one of the Context.
func (s *Scope) defaultRepository() (component.Typed, error) {
	return typed("repositoryContext of the Context", s.Repository)
}

// inline takes a descriptor that is written in the Installation. Its blobs and its other references are looked for in its
// own effective repository, or else in that of the Context.
func (s *Session) inline(definition v1alpha1.ComponentDescriptorDefinition) (*Root, error) {
	d, err := component.Decode(definition.Inline.RawMessage)
	if err != nil {
		return nil, refused("componentDescriptor.inline", err)
	}
	repository, err := s.scope.ownRepository(d)
	if err != nil {
		return nil, err
	}
	v := &version{descriptor: d, repository: repository, blobs: elsewhere{s, d.Key(), repository}}
	if v.registry, err = s.registryOf(repository); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.embedded[d.Key()] = v
	s.mu.Unlock()
	return &Root{Descriptor: s.remember(v), Definition: definition, Repository: repository}, nil
}

// ownRepository is the one that a descriptor names, or else that of the Context.
func (s *Scope) ownRepository(d *component.Descriptor) (component.Typed, error) {
	if len(d.RepositoryContexts) > 0 {
		return d.Repository()
	}
	return s.defaultRepository()
}

// elsewhere are the blobs of an inline descriptor: those of the published version of the same name, if there is one.
type elsewhere struct {
	session    *Session
	key        component.Key
	repository component.Typed
}

func (e elsewhere) blob(ctx context.Context, reference string) (*stream, error) {
	v, err := e.session.lookup(ctx, e.key, e.repository)
	if err != nil {
		return nil, fmt.Errorf("local blob %q of an inline component descriptor: %w", reference, err)
	}
	return v.blobs.blob(ctx, reference)
}

// bySource takes the component version that an artifact of Flux holds.
func (s *Session) bySource(ctx context.Context, definition v1alpha1.ComponentDescriptorDefinition) (*Root, error) {
	ref := definition.SourceReference
	fields := map[string]any{"kind": ref.Kind, "name": ref.Name}
	if ref.Namespace != "" {
		fields["namespace"] = ref.Namespace
	}
	spec := map[string]any{"type": "fluxSource", "sourceRef": fields}
	if definition.Path != "" {
		spec["path"] = definition.Path
	}
	repository, err := component.NewTyped(spec)
	if err != nil {
		return nil, refused("componentDescriptor.sourceRef", err)
	}
	from, err := s.origin(ctx, repository)
	if err != nil {
		return nil, fmt.Errorf("componentDescriptor: %w", err)
	}
	v, err := from.(*fluxOrigin).root(ctx)
	if err != nil {
		return nil, fmt.Errorf("componentDescriptor in %s: %w", from, err)
	}
	return &Root{Descriptor: s.remember(v), Definition: definition, Repository: repository}, nil
}

func typed(field string, raw *v1alpha1.AnyJSON) (component.Typed, error) {
	if raw == nil || len(raw.RawMessage) == 0 {
		return component.Typed{}, nil
	}
	t, err := component.ParseTyped(raw.RawMessage)
	if err != nil {
		return component.Typed{}, refused(field, err)
	}
	return t, nil
}

func anyJSON(t component.Typed) *v1alpha1.AnyJSON {
	if t.IsZero() {
		return nil
	}
	raw := v1alpha1.NewAnyJSON(t.Raw)
	return &raw
}
