// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Location is a component version in a repository.
type Location struct {
	// Repository it is looked for in; zero when none is given.
	Repository Typed
	// Key of the component version.
	Key Key
}

// Overwrites replace locations of components, in order; see Apply.
type Overwrites []v1alpha1.ComponentVersionOverwrite

// part is one field of a location that an overwrite may give.
type part int

// Parts of a location.
const (
	partRepository part = iota
	partName
	partVersion
	partCount
)

// partNames are the names of the parts in manifests.
var partNames = [partCount]string{"repositoryContext", "componentName", "version"}

// given are the parts that an overwrite names.
type given struct {
	location Location
	has      [partCount]bool
}

// Apply returns the location that takes the place of l, and a textual diff of both; the diff is empty when nothing was overwritten. An
// overwrite matches when all fields of its source equal the location. Of the overwrites that match, each gives all its substitution
// fields; one that has a field which an earlier one gave is left out. The result is not overwritten again.
func (o Overwrites) Apply(l Location) (Location, string, error) {
	var collected given
	for i, overwrite := range o {
		source, err := partsOf(overwrite.Source)
		if err != nil {
			return l, "", fmt.Errorf("overwrites[%d].source: %w", i, err)
		}
		substitution, err := partsOf(overwrite.Substitution)
		if err != nil {
			return l, "", fmt.Errorf("overwrites[%d].substitution: %w", i, err)
		}
		if source.matches(l) && !collected.overlaps(substitution) {
			collected.takeAll(substitution)
		}
	}
	out := collected.onto(l)
	return out, diff(l, out), nil
}

// partsOf reads the parts of one side of an overwrite.
func partsOf(r v1alpha1.ComponentVersionOverwriteReference) (given, error) {
	g := given{location: Location{Key: Key{r.ComponentName, r.Version}}}
	g.has = [partCount]bool{partName: r.ComponentName != "", partVersion: r.Version != ""}
	if r.RepositoryContext == nil || len(r.RepositoryContext.RawMessage) == 0 {
		return g, nil
	}
	repository, err := ParseTyped(r.RepositoryContext.RawMessage)
	if err != nil {
		return g, fmt.Errorf("repositoryContext: %w", err)
	}
	g.location.Repository, g.has[partRepository] = repository, true
	return g, nil
}

func (g given) matches(l Location) bool {
	for p := range partCount {
		if g.has[p] && !g.location.equal(l, p) {
			return false
		}
	}
	return true
}

func (g given) overlaps(other given) bool {
	for p := range partCount {
		if g.has[p] && other.has[p] {
			return true
		}
	}
	return false
}

func (g *given) takeAll(other given) {
	g.location = other.onto(g.location)
	for p := range partCount {
		g.has[p] = g.has[p] || other.has[p]
	}
}

// onto returns l with the given parts.
func (g given) onto(l Location) Location {
	if g.has[partRepository] {
		l.Repository = g.location.Repository
	}
	if g.has[partName] {
		l.Key.Name = g.location.Key.Name
	}
	if g.has[partVersion] {
		l.Key.Version = g.location.Key.Version
	}
	return l
}

func (l Location) equal(other Location, p part) bool {
	if p == partRepository {
		return l.Repository.Equal(other.Repository)
	}
	return l.text(p) == other.text(p)
}

func (l Location) text(p part) string {
	return [partCount]string{l.Repository.String(), l.Key.Name, l.Key.Version}[p]
}

// diff lists the parts that differ, before and after.
func diff(before, after Location) string {
	var lines []string
	for p := range partCount {
		if before.equal(after, p) {
			continue
		}
		if text := before.text(p); text != "" {
			lines = append(lines, fmt.Sprintf("- %s: %s", partNames[p], text))
		}
		lines = append(lines, fmt.Sprintf("+ %s: %s", partNames[p], after.text(p)))
	}
	return strings.Join(lines, "\n")
}

// Wrap returns a resolver that applies the overwrites to what it is asked for and then asks next. Repository is where components are
// looked for when a hint names no repository; after an overwrite, the hint for next names the repository to use. The resolver refuses a
// descriptor that names another component version than the one asked for.
func (o Overwrites) Wrap(repository Typed, next Resolver) Resolver {
	return ResolverFunc(func(ctx context.Context, key Key, hint Hint) (*Descriptor, error) {
		before := Location{Repository: hint.Repository, Key: key}
		if before.Repository.IsZero() {
			before.Repository = repository
		}
		after, _, err := o.Apply(before)
		if err != nil {
			return nil, fmt.Errorf("component version overwrites are wrong: %w", err)
		}
		if !after.Repository.Equal(before.Repository) {
			hint.Repository = after.Repository
		}
		found, err := next.Resolve(ctx, after.Key, hint)
		if err != nil {
			return nil, err
		}
		return found, found.Answers(after.Key)
	})
}

// Answers checks that a repository answered with the component version that it was asked for.
func (d *Descriptor) Answers(key Key) error {
	if d != nil && d.Key() != key {
		return fmt.Errorf("the repository holds component %s where %s should be; publish the component again", d.Key(), key)
	}
	return nil
}
