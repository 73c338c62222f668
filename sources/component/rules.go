// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// rules are overwrites that were read, by their sources. A location has at most eight sources that match it. Of overwrites with the same
// source that give the same fields the first is kept: where it counts, the others are left out.
type rules map[source][]rule

// source is what a location has to have; empty parts match everything. The repository is folded.
type source struct{ repository, name, version string }

// rule is one overwrite.
type rule struct {
	position     int
	substitution given
}

// read reads the overwrites. The error names the first one that is wrong.
func (o Overwrites) read(ctx context.Context) (rules, error) {
	out := rules{}
	for i, overwrite := range o {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		from, err := partsOf(ctx, overwrite.Source)
		if err != nil {
			return nil, fmt.Errorf("overwrites[%d].source: %w", i, err)
		}
		substitution, err := partsOf(ctx, overwrite.Substitution)
		if err != nil {
			return nil, fmt.Errorf("overwrites[%d].substitution: %w", i, err)
		}
		out.add(source{from.location.folded, from.location.Key.Name, from.location.Key.Version}, rule{i, substitution})
	}
	return out, nil
}

func (r rules) add(s source, added rule) {
	givesTheSame := func(before rule) bool { return before.substitution.has == added.substitution.has }
	if !slices.ContainsFunc(r[s], givesTheSame) {
		r[s] = append(r[s], added)
	}
}

// apply returns the location that takes the place of l; see Overwrites.Apply.
func (r rules) apply(l placed) placed {
	var collected given
	for _, match := range r.matching(l) {
		if !collected.overlaps(match.substitution) {
			collected.takeAll(match.substitution)
		}
	}
	return collected.onto(l)
}

// matching returns the rules whose source equals the location, in the order of the overwrites.
func (r rules) matching(l placed) []rule {
	if len(r) == 0 {
		return nil
	}
	var out []rule
	for _, repository := range withNone(l.folded) {
		for _, name := range withNone(l.Key.Name) {
			for _, version := range withNone(l.Key.Version) {
				out = append(out, r[source{repository, name, version}]...)
			}
		}
	}
	slices.SortFunc(out, func(a, b rule) int { return cmp.Compare(a.position, b.position) })
	return out
}

// withNone are the parts of sources that match a part of a location.
func withNone(part string) []string {
	if part == "" {
		return []string{""}
	}
	return []string{"", part}
}

// OverwritesOnce are overwrites that are read when they are needed first, and once. Who is interrupted leaves it to the next one. They are
// safe for concurrent use.
type OverwritesOnce struct {
	overwrites Overwrites

	mu     sync.Mutex
	isRead bool
	found  rules
	err    error
}

// Once returns the overwrites for many locations.
func (o Overwrites) Once() *OverwritesOnce { return &OverwritesOnce{overwrites: o} }

// Apply does the same as Overwrites.Apply.
func (o *OverwritesOnce) Apply(ctx context.Context, l Location) (Location, string, error) {
	r, err := o.rules(ctx)
	if err != nil {
		return l, "", err
	}
	out := r.apply(placed{l, l.Repository.Folded()})
	return out.Location, diff(l, out.Location), nil
}

// Wrap does the same as Overwrites.Wrap.
func (o *OverwritesOnce) Wrap(repository Typed, next Resolver) Resolver {
	standard := placed{Location{Repository: repository}, repository.Folded()}
	return ResolverFunc(func(ctx context.Context, key Key, hint Hint) (*Descriptor, error) {
		r, err := o.rules(ctx)
		if err != nil {
			return nil, fmt.Errorf("component version overwrites are wrong: %w", err)
		}
		before := standard
		if !hint.Repository.IsZero() {
			before = placed{Location{Repository: hint.Repository}, hint.Repository.Folded()}
		}
		before.Key = key
		after := r.apply(before)
		if after.folded != before.folded {
			hint.Repository = after.Repository
		}
		found, err := next.Resolve(ctx, after.Key, hint)
		if err != nil {
			return nil, err
		}
		return found, found.Answers(after.Key)
	})
}

// Forget gives the memory back that they take read. Who needs them after that reads them again.
func (o *OverwritesOnce) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.found, o.err, o.isRead = nil, nil, false
}

func (o *OverwritesOnce) rules(ctx context.Context) (rules, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isRead {
		return o.found, o.err
	}
	found, err := o.overwrites.read(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	o.found, o.err, o.isRead = found, err, true
	return found, err
}
