// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
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

// version is a component version, and the way to what lies beside it.
type version struct {
	descriptor *component.Descriptor
	// repository that was asked for it, and that finds it again.
	repository component.Typed
	// blobs are its local blobs.
	blobs blobs
	// registry is the base of relative references; zero if the repository is in no registry.
	registry place
	// found is the time in nanoseconds at which a registry was asked.
	found int64
}

// blobs open what a local reference of one component version names.
type blobs interface {
	blob(ctx context.Context, reference string) (*stream, error)
}

// origin is an opened repository.
type origin interface {
	// find returns a component version; the error may be one that missing accepts.
	find(ctx context.Context, key component.Key) (*version, error)
	// String names the repository in messages.
	String() string
}

// lookup asks the repository, then the resolvers of the OCM configuration.
func (s *Session) lookup(ctx context.Context, key component.Key, repository component.Typed) (*version, error) {
	candidates := s.candidates(key, repository)
	if len(candidates) == 0 {
		return nil, &fault.Error{Kind: fault.Stalled, Subject: "component " + key.String(), Class: ErrRepositoryMissing,
			Problem: "no repository is given", Cure: "set repositoryContext in the Installation or its Context, or ocmConfig with a resolver for it in the Context"}
	}
	var absent []error
	for _, candidate := range candidates {
		v, err := s.ask(ctx, key, candidate)
		if err == nil {
			return v, nil
		}
		if !missing(err) {
			return nil, err
		}
		absent = append(absent, err)
	}
	return nil, errors.Join(absent...)
}

// ErrRepositoryMissing is inside the error about a component without any repository to look into.
var ErrRepositoryMissing = errors.New("repository context missing")

// candidates are the repository, and those of the resolvers that fit; each once.
func (s *Session) candidates(key component.Key, repository component.Typed) []component.Typed {
	var all []component.Typed
	taken := map[string]bool{}
	if !repository.IsZero() {
		all, taken[repository.Folded()] = append(all, repository), true
	}
	for _, r := range s.scope.Rights.resolvers {
		if !taken[r.folded] && r.fits(key.Name) {
			all, taken[r.folded] = append(all, r.repository), true
		}
	}
	return all
}

func (s *Session) ask(ctx context.Context, key component.Key, repository component.Typed) (*version, error) {
	from, err := s.origin(ctx, repository)
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", key, err)
	}
	v, err := from.find(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("component %s in %s: %w", key, from, err)
	}
	if v.descriptor.Key() != key {
		return nil, stalled(fmt.Sprintf("component %s in %s", key, from), "the descriptor there is that of "+v.descriptor.Key().String(), "publish the component version anew")
	}
	// Versions are shared by all who may read them, in whatever words they name the repository.
	found := *v
	found.repository = repository
	return &found, nil
}

// opening is a repository that is being opened, or is open.
type opening struct {
	mu   sync.Mutex
	from origin
}

// origin opens a repository once for the session. One that could not be opened is opened anew for the next who asks.
func (s *Session) origin(ctx context.Context, repository component.Typed) (origin, error) {
	s.mu.Lock()
	one := s.origins[repository.String()]
	if one == nil {
		one = &opening{}
		s.origins[repository.String()] = one
	}
	s.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.from != nil {
		return one.from, nil
	}
	from, err := s.openRepository(ctx, repository)
	if err == nil {
		one.from = from
	}
	return from, err
}
