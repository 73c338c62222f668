// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

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
	// beside is how many bytes of memory it takes beside its descriptor.
	beside int64
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

// finder looks component versions up in the repositories of a Scope. It opens each of them once.
type finder struct {
	r     *Repositories
	scope *Scope
	held  *holdings

	mu      sync.Mutex
	origins map[string]*opening
	// last is the repository that was asked for last.
	last       component.Typed
	lastFolded string
}

// lookup asks the repository, then the resolvers of the OCM configuration.
func (f *finder) lookup(ctx context.Context, key component.Key, repository component.Typed) (*version, error) {
	candidates := f.candidates(key, repository)
	if len(candidates) == 0 {
		return nil, &fault.Error{Kind: fault.Stalled, Subject: "component " + key.String(), Class: ErrRepositoryMissing,
			Problem: "no repository is given", Cure: "set repositoryContext in the Installation or its Context, or ocmConfig with a resolver for it in the Context"}
	}
	var absent []error
	for _, candidate := range candidates {
		v, err := f.ask(ctx, key, candidate)
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
func (f *finder) candidates(key component.Key, repository component.Typed) []component.Typed {
	var all []component.Typed
	if !repository.IsZero() {
		all = append(all, repository)
	}
	if len(f.scope.Rights.resolvers) == 0 {
		return all
	}
	folded, taken := f.folded(repository), map[*string]bool{}
	for _, r := range f.scope.Rights.resolvers {
		if taken[r.folded] || !r.fits(key.Name) {
			continue
		}
		taken[r.folded] = true
		if repository.IsZero() || *r.folded != folded {
			all = append(all, r.repository)
		}
	}
	return all
}

// folded returns the text that all repositories share that are equal to this one. Most that are asked for are the same one.
func (f *finder) folded(repository component.Typed) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.Type != repository.Type || !bytes.Equal(f.last.Raw, repository.Raw) {
		f.last, f.lastFolded = repository, repository.Folded()
	}
	return f.lastFolded
}

func (f *finder) ask(ctx context.Context, key component.Key, repository component.Typed) (*version, error) {
	from, err := f.origin(ctx, repository)
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

// origin opens a repository once for the finder. One that could not be opened is opened anew for the next who asks, and also for those who
// waited with somebody that has left.
func (f *finder) origin(ctx context.Context, repository component.Typed) (origin, error) {
	for {
		one, mine := f.opening(repository.String())
		if mine {
			one.open(ctx, f, repository)
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

// opening returns what a finder knows of a repository, and whether the caller is the one to open it.
func (f *finder) opening(name string) (one *opening, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one = f.origins[name]; one != nil {
		return one, false
	}
	one = &opening{done: make(chan struct{}), err: errors.New("the repository could not be opened")}
	f.origins[name] = one
	return one, true
}

// open opens a repository for all who wait for it.
func (o *opening) open(ctx context.Context, f *finder, repository component.Typed) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if o.err != nil {
			delete(f.origins, repository.String())
		}
		close(o.done)
	}()
	o.from, o.err = f.open(ctx, repository)
}
