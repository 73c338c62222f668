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

// reading reads overwrites when they are needed first, and once. Who is interrupted leaves it to the next one.
type reading struct {
	overwrites Overwrites

	mu     sync.Mutex
	isDone bool
	found  rules
	err    error
}

func (r *reading) rules(ctx context.Context) (rules, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isDone {
		return r.found, r.err
	}
	found, err := r.overwrites.read(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	r.found, r.err, r.isDone = found, err, true
	return found, err
}
