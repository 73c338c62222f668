// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
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
}

// Session looks up component versions and content for one Scope. It remembers where each component version was found. It
// is safe for concurrent use and has to be closed.
type Session struct {
	r     *Repositories
	scope Scope

	mu sync.Mutex
	// repository is where components without another one are looked for: that of the root.
	repository component.Typed
	origins    map[string]*opening
	found      map[component.Key]*version
	embedded   map[component.Key]*version
	sources    []v1alpha1.SourceStatus
	held       []io.Closer
	// resident is what opened repositories have in memory, and bytes are those of the others that the session has.
	resident []*component.Descriptor
	bytes    int64
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

// Open starts a session.
func (r *Repositories) Open(s Scope) *Session {
	return &Session{
		r: r, scope: s,
		origins:  map[string]*opening{},
		found:    map[component.Key]*version{},
		embedded: map[component.Key]*version{},
	}
}

// Close gives back what the session holds. File systems and blobs that it returned stay usable.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, held := range s.held {
		_ = held.Close()
	}
	s.held = nil
}

// SourcesUsed returns the Flux sources whose artifacts were used so far, by kind, namespace and name.
func (s *Session) SourcesUsed() []v1alpha1.SourceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sources)
}

// use records a source.
func (s *Session) use(source flux.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := v1alpha1.SourceStatus{Kind: source.Kind, Namespace: source.Namespace, Name: source.Name, Revision: source.Revision, Digest: source.Digest}
	if slices.Contains(s.sources, used) {
		return
	}
	s.sources = append(s.sources, used)
	slices.SortFunc(s.sources, func(a, b v1alpha1.SourceStatus) int {
		return strings.Compare(flux.Key(a.Kind, a.Namespace, a.Name), flux.Key(b.Kind, b.Namespace, b.Name))
	})
}

// keep counts what the session has in memory.
func (s *Session) keep(bytes int64, resident ...*component.Descriptor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += bytes
	s.resident = append(s.resident, resident...)
}

// sessionWeight is what a session counts beside the component versions that it knows: it keeps files open.
const sessionWeight = 64 << 10

// Weight returns what the session has in memory: the bytes that only it has, and the descriptors that it shares with others.
func (s *Session) Weight() (own int64, shared []memory.Piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[*component.Descriptor]struct{}{}
	share := func(d *component.Descriptor) {
		if _, ok := known[d]; !ok {
			known[d] = struct{}{}
			shared = append(shared, pieceOf(d))
		}
	}
	for _, d := range s.resident {
		share(d)
	}
	for _, v := range s.found {
		share(v.descriptor)
	}
	for _, v := range s.embedded {
		share(v.descriptor)
	}
	return sessionWeight + s.bytes, shared
}

// hold keeps trees and directories open until the session ends. Those of a repository are held when it is open: one that cannot be opened may be
// tried any number of times.
func (s *Session) hold(open ...io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, open...)
}

// Closure returns root with everything it refers to, overwrites applied. Component versions are looked up in parallel.
func (s *Session) Closure(ctx context.Context, root *component.Descriptor) (*component.Closed, error) {
	s.mu.Lock()
	repository := s.repository
	s.mu.Unlock()
	resolver := component.Overwrites(s.scope.Overwrites).Wrap(repository, component.ResolverFunc(s.resolve))
	closed, err := component.Closure(ctx, root, resolver, component.Limits{})
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
	v, err := s.inside(key, hint)
	if err != nil {
		return nil, &lookupError{err}
	}
	if v != nil {
		return s.remember(v), nil
	}
	repository := hint.Repository
	if repository.IsZero() {
		s.mu.Lock()
		repository = s.repository
		s.mu.Unlock()
	}
	if v, err = s.lookup(ctx, key, repository); err != nil {
		return nil, &lookupError{err}
	}
	return s.remember(v), nil
}

// inside returns a version that is embedded in an inline descriptor; nil if there is none, or an overwrite names another repository.
func (s *Session) inside(key component.Key, hint component.Hint) (*version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !hint.Repository.IsZero() {
		return nil, nil
	}
	if v := s.embedded[key]; v != nil || hint.From == nil || hint.Reference == nil || key != hint.Reference.Key() {
		return v, nil
	}
	parent := s.embedded[hint.From.Key()]
	if parent == nil {
		return nil, nil
	}
	d, err := hint.Reference.Embedded()
	if err != nil {
		return nil, refused("componentDescriptor.inline", err)
	}
	if d == nil {
		return nil, nil
	}
	v := &version{descriptor: d, repository: parent.repository, blobs: parent.blobs, registry: parent.registry}
	s.embedded[key] = v
	return v, nil
}

// remember keeps where a descriptor was found, for its resources.
func (s *Session) remember(v *version) *component.Descriptor {
	if v == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[v.descriptor.Key()] = v
	return v.descriptor
}

// version returns what the session knows of a descriptor.
func (s *Session) version(d *component.Descriptor) (*version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.found[d.Key()]; v != nil {
		return v, nil
	}
	return nil, stalled("component "+d.Key().String(), "this session has not looked it up", "resolve it with Root or Closure first")
}

// RepositoryOf returns the repository in which Root or Closure found a component version: after overwrites, and the one of a resolver of
// the OCM configuration if that had it. Of a component that is written inline it is the one of its local blobs. It is zero if the session
// has not found the version, or no repository is known.
func (s *Session) RepositoryOf(key component.Key) component.Typed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.found[key]; v != nil {
		return v.repository
	}
	return component.Typed{}
}

// lookup asks the repository, then the resolvers of the OCM configuration.
func (s *Session) lookup(ctx context.Context, key component.Key, repository component.Typed) (*version, error) {
	candidates := s.candidates(key, repository)
	if len(candidates) == 0 {
		return nil, &Error{Kind: Stalled, Subject: "component " + key.String(), Cause: ErrRepositoryMissing,
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

func (s *Session) candidates(key component.Key, repository component.Typed) []component.Typed {
	var all []component.Typed
	if !repository.IsZero() {
		all = append(all, repository)
	}
	for _, r := range s.scope.Rights.resolvers {
		if r.fits(key.Name) && !slices.ContainsFunc(all, r.repository.Equal) {
			all = append(all, r.repository)
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
	// done is closed when the other fields are set.
	done chan struct{}
	from origin
	err  error
}

// origin opens a repository once for the session. One that could not be opened is opened anew for the next who asks, and also for those who
// waited with somebody that has left.
func (s *Session) origin(ctx context.Context, repository component.Typed) (origin, error) {
	for {
		one, mine := openingIn(s, repository.String())
		if mine {
			one.open(ctx, s, repository)
			return one.from, one.err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-one.done:
		}
		if !errors.Is(one.err, context.Canceled) && !errors.Is(one.err, context.DeadlineExceeded) || ctx.Err() != nil {
			return one.from, one.err
		}
	}
}

// openingIn returns what a session knows of a repository, and whether the caller is the one to open it.
func openingIn(s *Session, name string) (one *opening, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one = s.origins[name]; one != nil {
		return one, false
	}
	one = &opening{done: make(chan struct{}), err: errors.New("the repository could not be opened")}
	s.origins[name] = one
	return one, true
}

// open opens a repository for all who wait for it.
func (o *opening) open(ctx context.Context, s *Session, repository component.Typed) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if o.err != nil {
			delete(s.origins, repository.String())
		}
		close(o.done)
	}()
	o.from, o.err = s.open(ctx, repository)
}
