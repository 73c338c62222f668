// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
)

// Hint helps a Resolver to find a component version.
type Hint struct {
	// From is the descriptor that refers to it; nil for a root.
	From *Descriptor
	// Reference inside From; nil for a root.
	Reference *Reference
	// Repository to look into, if an overwrite or the caller names one; zero means the resolver's default.
	Repository Typed
}

// Resolver finds descriptors. It has to be safe for concurrent use.
type Resolver interface {
	// Resolve returns the descriptor of a component version. The error is, or wraps, ErrNotFound when there is no such version.
	Resolve(ctx context.Context, key Key, hint Hint) (*Descriptor, error)
}

// ResolverFunc is a function as a Resolver.
type ResolverFunc func(ctx context.Context, key Key, hint Hint) (*Descriptor, error)

// Resolve calls the function.
func (f ResolverFunc) Resolve(ctx context.Context, key Key, hint Hint) (*Descriptor, error) {
	return f(ctx, key, hint)
}

// Limits of a closure. Zero fields mean the defaults.
type Limits struct {
	// Parallel is how many descriptors are resolved at the same time; 32 by default.
	Parallel int
	// Components is how many component versions there may be; 5000 by default.
	Components int
	// Depth is how many references may follow each other; 64 by default.
	Depth int
	// Bytes is how large all descriptors may be together; 256 MiB by default.
	Bytes int
}

// Closed is a component version with everything it refers to, directly or not.
type Closed struct {
	// Root is where the references start.
	Root *Descriptor
	// Descriptors are Root and all components behind it, each once, nearer ones first, in the order of the references.
	Descriptors []*Descriptor

	// requested holds the descriptors by the key that a reference has, own by the key that the descriptor itself has. They differ
	// where overwrites are in place.
	requested, own map[Key]*Descriptor
}

// Closure resolves the references of root, and theirs, and so on. Every component version is resolved once, Limits.Parallel at a time;
// cycles end by that. The first error cancels the rest; it names the way of references that leads to the component.
func Closure(ctx context.Context, root *Descriptor, resolver Resolver, limits Limits) (*Closed, error) {
	return &Closed{Root: root, Descriptors: []*Descriptor{root}, own: map[Key]*Descriptor{root.Key(): root}}, nil
}

// Find returns the component version of that key, nil when there is none.
func (c *Closed) Find(key Key) *Descriptor { return c.own[key] }

// Follow returns the descriptor behind a reference, after overwrites.
func (c *Closed) Follow(reference *Reference) (*Descriptor, error) { return nil, ErrNotFound }

// Locate follows a relative reference from a component of the closure to a resource, and returns that with its component.
func (c *Closed) Locate(from *Descriptor, reference RelativeReference) (*Descriptor, *Resource, error) {
	return nil, nil, ErrNotFound
}
