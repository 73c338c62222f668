// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
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
