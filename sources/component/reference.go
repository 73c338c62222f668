// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ErrNotFound says that there is no such component version, resource, reference or blob.
var ErrNotFound = fault.Class(fault.Stalled, "not found")

// Limits of references.
const (
	// maxReference is how many bytes a reference may have.
	maxReference = 2083
	// uriScheme starts a reference written as a URI.
	uriScheme = "cd://"
)

// RelativeReference leads from a component along references to a resource. Each step is an identity: name and, where needed, the extra
// identity.
type RelativeReference struct {
	// Path are the references to follow.
	Path []map[string]string
	// Resource at the end.
	Resource map[string]string
}

// ParseReference reads a cd:// URI such as cd://componentReferences/db/resources/chart, YAML or JSON of an OCM relative reference
// {resource: {name}, referencePath: [{name}]}, or such an object as JSON-like data.
func ParseReference(reference any) (RelativeReference, error) {
	switch r := reference.(type) {
	case string:
		if len(r) > maxReference {
			return RelativeReference{}, fmt.Errorf("resource reference is longer than %d bytes; shorten it", maxReference)
		}
		if strings.HasPrefix(r, uriScheme) {
			return parseURI(r)
		}
		document, err := decodeJSON([]byte(r))
		if err != nil {
			return RelativeReference{}, fmt.Errorf("resource reference is neither a cd:// URI nor an object: %w", err)
		}
		return parseRelative(document)
	case map[string]any:
		return parseRelative(copyTree(r))
	}
	return RelativeReference{}, fmt.Errorf("a resource reference must be a text or an object, not %s", describe(reference))
}

// copyTree copies JSON-like data; a value that JSON does not have becomes null.
func copyTree(value any) any {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	out, _ := decodeJSON(raw)
	return out
}

// parseURI reads keywords and names by turns.
func parseURI(uri string) (RelativeReference, error) {
	var out RelativeReference
	parts := strings.Split(strings.Trim(strings.TrimPrefix(uri, uriScheme), "/"), "/")
	if len(parts)%2 != 0 {
		return out, fmt.Errorf("reference %q needs keywords and names by turns, like cd://resources/my-resource", uri)
	}
	for i := 0; i < len(parts); i += 2 {
		if err := out.step(parts[i], parts[i+1], i+2 == len(parts)); err != nil {
			return RelativeReference{}, fmt.Errorf("reference %q: %w", uri, err)
		}
	}
	return out, nil
}

func (r *RelativeReference) step(keyword, name string, last bool) error {
	identity := map[string]string{"name": name}
	switch {
	case name == "":
		return errors.New("a name is empty")
	case keyword == "componentReferences" && !last:
		r.Path = append(r.Path, identity)
	case keyword == "resources" && last:
		r.Resource = identity
	case keyword == "componentReferences":
		return errors.New("it ends at a component; end it with resources/<name>")
	case keyword == "resources":
		return errors.New("resources/<name> must be its end")
	default:
		return fmt.Errorf("keyword %q is unknown; use componentReferences or resources", keyword)
	}
	return nil
}

// parseRelative reads an OCM relative reference. Steps are identities; an extra identity may also be nested under extraIdentity.
func parseRelative(document any) (RelativeReference, error) {
	fields, ok := document.(map[string]any)
	if !ok {
		return RelativeReference{}, fmt.Errorf("a resource reference must be a cd:// URI or an object with resource and referencePath, not %s",
			describe(document))
	}
	root := object{fields: fields, problems: &problems{}}
	var out RelativeReference
	list(root, "referencePath", &out.Path, readIdentity)
	readIdentity(&out.Resource, root.child("resource"))
	if err := root.problems.err(); err != nil {
		return RelativeReference{}, fmt.Errorf("resource reference is wrong: %w", err)
	}
	return out, nil
}

// readIdentity takes all fields as the parts of an identity.
func readIdentity(identity *map[string]string, o object) {
	o.texts("extraIdentity", identity)
	if *identity == nil {
		*identity = map[string]string{}
	}
	for key := range o.fields {
		var part string
		o.text(key, &part)
		(*identity)[key] = part
	}
	if (*identity)["name"] == "" {
		o.problems.add(o.at("name"), "is missing")
	}
}

// Location is a component version in a repository.
type Location struct {
	// Repository it is looked for in; zero when none is given.
	Repository Typed
	// Key of the component version.
	Key Key
}

// partNames are the names of the parts of a location in manifests.
var partNames = [...]string{"repositoryContext", "componentName", "version"}

// parts are repository, name and version of a location as texts, which are equal where the parts are; empty ones say nothing.
type parts [len(partNames)]string

func (l Location) parts() parts { return parts{l.Repository.Folded(), l.Key.Name, l.Key.Version} }

// fit reports whether all parts that are given are those of a location.
func (p parts) fit(location parts) bool {
	for i, part := range p {
		if part != "" && part != location[i] {
			return false
		}
	}
	return true
}

// overlap reports whether both give the same part.
func (p parts) overlap(other parts) bool {
	for i, part := range p {
		if part != "" && other[i] != "" {
			return true
		}
	}
	return false
}

// overwrite is one that was read. Its repository is that of the substitution.
type overwrite struct {
	source, substitution parts
	repository           Typed
}

// Overwrites replace locations of components, in order; see Apply. They are safe for concurrent use.
type Overwrites struct {
	all []overwrite
	err error
}

// NewOverwrites reads overwrites. Where one of them is wrong, Apply and the resolver of Wrap say so.
func NewOverwrites(list []v1alpha1.ComponentVersionOverwrite) *Overwrites {
	out := &Overwrites{}
	for i, written := range list {
		source, err := locationOf(written.Source)
		if err != nil {
			return &Overwrites{err: fmt.Errorf("overwrites[%d].source: %w", i, err)}
		}
		substitution, err := locationOf(written.Substitution)
		if err != nil {
			return &Overwrites{err: fmt.Errorf("overwrites[%d].substitution: %w", i, err)}
		}
		out.all = append(out.all, overwrite{source.parts(), substitution.parts(), substitution.Repository})
	}
	return out
}

func locationOf(r v1alpha1.ComponentVersionOverwriteReference) (Location, error) {
	l := Location{Key: Key{r.ComponentName, r.Version}}
	if r.RepositoryContext == nil || len(r.RepositoryContext.RawMessage) == 0 {
		return l, nil
	}
	var err error
	if l.Repository, err = ParseTyped(r.RepositoryContext.RawMessage); err != nil {
		return l, fmt.Errorf("repositoryContext: %w", err)
	}
	return l, nil
}

// Apply returns the location that takes the place of l, and a textual diff of both; the diff is empty when nothing was overwritten. An
// overwrite matches when all fields of its source equal the location. Of the overwrites that match, each gives all its substitution
// fields; one that has a field which an earlier one gave is left out. The result is not overwritten again.
func (o *Overwrites) Apply(l Location) (Location, string, error) {
	if o.err != nil || len(o.all) == 0 {
		return l, "", o.err
	}
	out, before, given := l, l.parts(), parts{}
	for _, one := range o.all {
		if !one.source.fit(before) || one.substitution.overlap(given) {
			continue
		}
		for i, part := range one.substitution {
			if part == "" {
				continue
			}
			given[i] = part
			switch i {
			case 0:
				out.Repository = one.repository
			case 1:
				out.Key.Name = part
			case 2:
				out.Key.Version = part
			}
		}
	}
	return out, diff(l, out), nil
}

// diff lists the parts that differ, before and after.
func diff(before, after Location) string {
	var lines []string
	was, is := before.parts(), after.parts()
	old := parts{before.Repository.String(), before.Key.Name, before.Key.Version}
	changed := parts{after.Repository.String(), after.Key.Name, after.Key.Version}
	for i, name := range partNames {
		if was[i] == is[i] {
			continue
		}
		if old[i] != "" {
			lines = append(lines, fmt.Sprintf("- %s: %s", name, old[i]))
		}
		lines = append(lines, fmt.Sprintf("+ %s: %s", name, changed[i]))
	}
	return strings.Join(lines, "\n")
}

// Wrap returns a resolver that applies the overwrites to what it is asked for and then asks next. Repository is where components are
// looked for when a hint names no repository; after an overwrite, the hint for next names the repository to use. The resolver refuses a
// descriptor that names another component version than the one asked for.
func (o *Overwrites) Wrap(repository Typed, next Resolver) Resolver {
	return func(ctx context.Context, key Key, hint Hint) (*Descriptor, error) {
		before := Location{Repository: repository, Key: key}
		if !hint.Repository.IsZero() {
			before.Repository = hint.Repository
		}
		after, _, err := o.Apply(before)
		if err != nil {
			return nil, fmt.Errorf("component version overwrites are wrong: %w", err)
		}
		if !after.Repository.Equal(before.Repository) {
			hint.Repository = after.Repository
		}
		found, err := next(ctx, after.Key, hint)
		if err != nil {
			return nil, err
		}
		return found, found.Answers(after.Key)
	}
}

// Answers checks that a repository answered with the component version that it was asked for.
func (d *Descriptor) Answers(key Key) error {
	if d != nil && d.Key() != key {
		return fmt.Errorf("the repository holds component %s where %s should be; publish the component again", d.Key(), key)
	}
	return nil
}
