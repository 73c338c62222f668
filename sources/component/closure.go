// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
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

// Resolver returns the descriptor of a component version. The error is, or wraps, ErrNotFound when there is no such version. It has to be safe for
// concurrent use.
type Resolver func(ctx context.Context, key Key, hint Hint) (*Descriptor, error)

// Limits of a closure. Zero fields mean the defaults.
type Limits struct {
	// Parallel is how many descriptors are resolved at the same time; 32 by default.
	Parallel int
	// Components is how many component versions there may be; 5000 by default.
	Components int
	// Depth is how many references may follow each other; 64 by default.
	Depth int
	// Bytes is how much memory all descriptors may take together; MaxWeight by default.
	Bytes int
	// Partial leaves out component versions that are not found.
	Partial bool
}

// MaxWeight is how many bytes of memory the descriptors of one component and of all behind it may take.
const MaxWeight = 64 << 20

// withDefaults fills in what is not given.
func (l Limits) withDefaults() Limits {
	for _, limit := range []struct {
		value    *int
		standard int
	}{{&l.Parallel, 32}, {&l.Components, 5000}, {&l.Depth, 64}, {&l.Bytes, MaxWeight}} {
		*limit.value = cmp.Or(max(*limit.value, 0), limit.standard)
	}
	return l
}

// Closed is a component version with everything it refers to, directly or not.
type Closed struct {
	// Root is where the references start.
	Root *Descriptor
	// Descriptors are Root and all components behind it, each once, nearer ones first, in the order of the references.
	Descriptors []*Descriptor
	// Missing are component versions that were left out, see Limits.Partial.
	Missing []Key

	// requested holds the descriptors by the key that a reference has, own by the key that the descriptor itself has. They differ
	// where overwrites are in place.
	requested, own map[Key]*Descriptor
}

// Closure resolves the references of root, and theirs, and so on. Every component version is resolved once, Limits.Parallel at a time;
// cycles end by that. The first error cancels the rest; it names the way of references that leads to the component.
func Closure(ctx context.Context, root *Descriptor, resolver Resolver, limits Limits) (*Closed, error) {
	w := &walk{
		resolver: resolver, limits: limits.withDefaults(), seen: map[Key]bool{root.Key(): true},
		closed: &Closed{Root: root, requested: map[Key]*Descriptor{root.Key(): root}, own: map[Key]*Descriptor{}},
	}
	level := []*visit{{found: root}}
	w.add(level[0])
	for depth := 1; ; depth++ {
		level = w.next(level)
		switch {
		case len(level) == 0:
			return w.closed, nil
		case depth > w.limits.Depth:
			return nil, fmt.Errorf("component %s is behind more than %d references in a row; flatten the components", level[0].way(), w.limits.Depth)
		}
		if err := w.resolve(ctx, level); err != nil {
			return nil, err
		}
	}
}

// walk goes through the references level by level, so that the order of the result does not depend on who answers first.
type walk struct {
	resolver Resolver
	limits   Limits
	seen     map[Key]bool
	closed   *Closed

	// weight is that of what was found so far.
	weight atomic.Int64
}

// visit is one component version on the way.
type visit struct {
	from  *visit
	ref   *Reference
	found *Descriptor
}

// way names the components from the root to this one. It is made for messages only: those of all components may take more than their descriptors.
func (v *visit) way() string {
	var steps []string
	for ; v.from != nil; v = v.from {
		steps = append(steps, v.ref.Key().String())
	}
	steps = append(steps, v.found.Key().String())
	slices.Reverse(steps)
	return strings.Join(steps, " → ")
}

// next returns the references of a level that were not seen before.
func (w *walk) next(level []*visit) []*visit {
	var out []*visit
	for _, v := range level {
		if v.found == nil {
			continue
		}
		for i := range v.found.References {
			ref := &v.found.References[i]
			if w.seen[ref.Key()] {
				continue
			}
			w.seen[ref.Key()] = true
			out = append(out, &visit{from: v, ref: ref})
		}
	}
	return out
}

func (w *walk) resolve(ctx context.Context, level []*visit) error {
	if len(w.seen) > w.limits.Components {
		return fmt.Errorf("component %s refers to more than %d component versions; split it", w.closed.Root.Key(), w.limits.Components)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(w.limits.Parallel)
	for _, v := range level {
		group.Go(func() error { return fault.Survived(ctx, func() error { return w.visit(ctx, v) }) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, v := range level {
		if v.found == nil {
			w.closed.Missing = append(w.closed.Missing, v.ref.Key())
			continue
		}
		w.add(v)
	}
	return nil
}

func (w *walk) visit(ctx context.Context, v *visit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	found, err := w.resolver(ctx, v.ref.Key(), Hint{From: v.from.found, Reference: v.ref})
	if err == nil && found == nil {
		err = ErrNotFound
	}
	if w.limits.Partial && errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("component %s cannot be resolved: %w", v.way(), err)
	}
	// Counted when it arrives: those of a whole level may be far more than there is memory for.
	if w.weight.Add(found.weight) > int64(w.limits.Bytes) {
		return fmt.Errorf("the descriptors behind component %s take more than %d bytes of memory; split it", w.closed.Root.Key(), w.limits.Bytes)
	}
	v.found = found
	return nil
}

// add puts what was found into the result. Several references may lead to one component version by overwrites; it is kept once, and
// its references are followed once.
func (w *walk) add(v *visit) {
	if v.ref != nil {
		w.closed.requested[v.ref.Key()] = v.found
	}
	if same, known := w.closed.own[v.found.Key()]; known {
		w.closed.requested[v.ref.Key()] = same
		v.found = nil
		return
	}
	w.closed.own[v.found.Key()] = v.found
	w.closed.Descriptors = append(w.closed.Descriptors, v.found)
}

// Find returns the component version that has this key itself, nil when there is none.
func (c *Closed) Find(key Key) *Descriptor { return c.own[key] }

// Follow returns the descriptor behind a reference of a component of the closure, after overwrites. The error wraps ErrNotFound.
func (c *Closed) Follow(reference *Reference) (*Descriptor, error) {
	if found := c.requested[reference.Key()]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("component %s, which reference %q is to, is not among the components behind %s: %w",
		reference.Key(), reference.Name, c.Root.Key(), ErrNotFound)
}

// Component follows references, given by their identities, from a component of the closure to another one. No references lead to the
// component itself. The error wraps ErrNotFound when something is missing.
func (c *Closed) Component(from *Descriptor, path []map[string]string) (*Descriptor, error) {
	for _, step := range path {
		reference, err := from.FindReference(step)
		if err != nil {
			return nil, err
		}
		if from, err = c.Follow(reference); err != nil {
			return nil, err
		}
	}
	return from, nil
}

// Locate follows a relative reference from a component of the closure to a resource, and returns that with its component. The error wraps
// ErrNotFound when something is missing.
func (c *Closed) Locate(from *Descriptor, reference RelativeReference) (*Descriptor, *Resource, error) {
	d, err := c.Component(from, reference.Path)
	if err != nil {
		return nil, nil, err
	}
	resource, err := d.FindResource(reference.Resource)
	return d, resource, err
}

// Replace returns the closure with other descriptors for the same component versions.
func (c *Closed) Replace(by map[Key]*Descriptor) *Closed {
	out := &Closed{Root: by[c.Root.Key()], requested: map[Key]*Descriptor{}, own: map[Key]*Descriptor{}}
	for _, d := range c.Descriptors {
		out.own[d.Key()] = by[d.Key()]
		out.Descriptors = append(out.Descriptors, by[d.Key()])
	}
	for key, d := range c.requested {
		out.requested[key] = by[d.Key()]
	}
	return out
}
