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

// placed is a location with its repository folded.
type placed struct {
	Location
	folded string
}

// given are the parts that an overwrite names.
type given struct {
	location placed
	has      [partCount]bool
}

// Apply returns the location that takes the place of l, and a textual diff of both; the diff is empty when nothing was overwritten. An
// overwrite matches when all fields of its source equal the location. Of the overwrites that match, each gives all its substitution
// fields; one that has a field which an earlier one gave is left out. The result is not overwritten again.
func (o Overwrites) Apply(ctx context.Context, l Location) (Location, string, error) {
	return o.Once().Apply(ctx, l)
}

// partsOf reads the parts of one side of an overwrite.
func partsOf(ctx context.Context, r v1alpha1.ComponentVersionOverwriteReference) (given, error) {
	g := given{location: placed{Location: Location{Key: Key{r.ComponentName, r.Version}}}}
	g.has = [partCount]bool{partName: r.ComponentName != "", partVersion: r.Version != ""}
	if r.RepositoryContext == nil || len(r.RepositoryContext.RawMessage) == 0 {
		return g, nil
	}
	repository, err := parseTyped(ctx, r.RepositoryContext.RawMessage)
	if err != nil {
		return g, fmt.Errorf("repositoryContext: %w", err)
	}
	g.location.Repository, g.location.folded, g.has[partRepository] = repository, repository.Folded(), true
	return g, nil
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
func (g given) onto(l placed) placed {
	if g.has[partRepository] {
		l.Repository, l.folded = g.location.Repository, g.location.folded
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
	return o.Once().Wrap(repository, next)
}

// Answers checks that a repository answered with the component version that it was asked for.
func (d *Descriptor) Answers(key Key) error {
	if d != nil && d.Key() != key {
		return fmt.Errorf("the repository holds component %s where %s should be; publish the component again", d.Key(), key)
	}
	return nil
}
