// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// Scope is what one Installation may use. Everything in it was read with that Installation's rights.
type Scope struct {
	// Namespace of the Installation; Flux sources without one are looked up there.
	Namespace string
	// Repository is the repositoryContext of the Context; nil means that it has none.
	Repository *v1alpha1.AnyJSON
	// Rights of the Context.
	Rights Rights
	// Overwrites of the Context.
	Overwrites []v1alpha1.ComponentVersionOverwrite
	// RequireVerified refuses Flux sources that Flux has not verified.
	RequireVerified bool
	// Partial leaves out of closures what is not found.
	Partial bool
}

// Session looks up component versions and content for one Scope. It remembers where each component version was found. It
// is safe for concurrent use and has to be closed.
type Session struct {
	scope *Scope
	// overwrites are those of the scope.
	overwrites *component.OverwritesOnce
	// finder looks versions up, known remembers them, and contents opens what their resources name.
	finder   *finder
	known    *versions
	contents contents
	held     *holdings
}

// Open starts a session.
func (r *Repositories) Open(s Scope) *Session {
	held := &holdings{found: map[*component.Descriptor]struct{}{}}
	return &Session{
		scope:      &s,
		overwrites: component.Overwrites(s.Overwrites).Once(),
		finder:     &finder{r: r, scope: &s, held: held, origins: map[string]*opening{}},
		known:      &versions{found: map[component.Key]*version{}, embedded: map[component.Key]*version{}},
		contents:   contents{r: r, scope: &s},
		held:       held,
	}
}

// Close gives back what the session holds. File systems and blobs that it returned stay usable.
func (s *Session) Close() { s.held.release() }

// SourcesUsed returns the Flux sources whose artifacts were used so far, by kind, namespace and name.
func (s *Session) SourcesUsed() []v1alpha1.SourceStatus { return s.held.used() }

// sessionWeight is what a session counts beside the component versions that it knows: it keeps files open.
const sessionWeight = 64 << 10

// Weight returns how many bytes the session has in memory, with descriptors that it shares with others.
func (s *Session) Weight() int64 { return sessionWeight + s.held.inMemory() }

// Closure returns root with everything it refers to, overwrites applied. Component versions are looked up in parallel.
func (s *Session) Closure(ctx context.Context, root *component.Descriptor) (*component.Closed, error) {
	defer s.overwrites.Forget() // sessions are kept, and closures are made once
	resolver := s.overwrites.Wrap(s.known.start(), component.ResolverFunc(s.resolve))
	closed, err := component.Closure(ctx, root, resolver, component.Limits{Partial: s.scope.Partial})
	var found *lookupError
	if err == nil || errors.As(err, &found) || ctx.Err() != nil {
		return closed, err
	}
	return nil, refused("component "+root.Key().String(), err)
}

// lookupError marks errors of resolve among those of the closure, which only a person can end.
type lookupError struct{ error }

func (e *lookupError) Unwrap() error { return e.error }

// resolve finds a component version that another one refers to.
func (s *Session) resolve(ctx context.Context, key component.Key, hint component.Hint) (*component.Descriptor, error) {
	v, err := s.known.inside(key, hint)
	if err != nil {
		return nil, &lookupError{err}
	}
	if v != nil {
		return s.found(v)
	}
	repository := hint.Repository
	if repository.IsZero() {
		repository = s.known.start()
	}
	if v, err = s.finder.lookup(ctx, key, repository); err != nil {
		return nil, &lookupError{err}
	}
	return s.found(v)
}

// remember keeps a version for its resources, and returns its descriptor.
func (s *Session) remember(v *version) (*component.Descriptor, error) {
	if !s.known.remember(v) {
		return v.descriptor, nil
	}
	return v.descriptor, s.held.keep(v.beside, v.descriptor)
}

// found is remember for a closure.
func (s *Session) found(v *version) (*component.Descriptor, error) {
	d, err := s.remember(v)
	if err != nil {
		return nil, &lookupError{err}
	}
	return d, nil
}

// RepositoryOf returns the repository in which Root or Closure found a component version: after overwrites, and the one of a resolver of
// the OCM configuration if that had it. Of a component that is written inline it is the one of its local blobs. It is zero if the session
// has not found the version, or no repository is known.
func (s *Session) RepositoryOf(key component.Key) component.Typed { return s.known.repositoryOf(key) }
