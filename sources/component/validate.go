// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// Shapes of names. Names are looked up in registries and file systems, so they must not be able to leave their place there.
var (
	componentName    = regexp.MustCompile(`^[A-Za-z0-9]+([._-]+[A-Za-z0-9]+)*(/[A-Za-z0-9]+([._-]+[A-Za-z0-9]+)*)*$`)
	componentVersion = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)
)

// Longest names.
const (
	maxName    = 255
	maxVersion = 128
)

// Validate checks the rules that both schemas share: names and versions, unique identities, complete digests, types. Decode calls it. The
// error names all wrong fields by their path in the schema of the descriptor, with the cure.
func (d *Descriptor) Validate() error {
	p := &problems{}
	paths := pathsOf(d.Schema)
	d.Key().check(p, paths.header+".name", paths.header+".version")
	checkLabels(p, paths.header+".labels", d.Labels)
	checkElements(p, paths.resources, d.Resources, (*Resource).check)
	checkElements(p, paths.sources, d.Sources, (*Source).check)
	checkElements(p, paths.references, d.References, (*Reference).check)
	d.checkSignatures(p)
	if err := p.err(); err != nil {
		return fmt.Errorf("component descriptor of %s is not valid: %w", d.Key(), err)
	}
	return nil
}

// paths say where the parts of a descriptor are in a schema.
type paths struct{ header, resources, sources, references string }

func pathsOf(schema string) paths {
	if schema == SchemaV3 {
		return paths{"metadata", "spec.resources", "spec.sources", "spec.references"}
	}
	return paths{"component", "component.resources", "component.sources", "component.componentReferences"}
}

// check judges name and version of a component, found at these paths.
func (k Key) check(p *problems, name, version string) {
	switch {
	case k.Name == "":
		p.add(name, "is missing")
	case len(k.Name) > maxName || !componentName.MatchString(k.Name):
		p.add(name, "is %.300q; use letters, digits, dots and dashes in parts separated by slashes, as in example.com/shop", k.Name)
	}
	switch {
	case k.Version == "":
		p.add(version, "is missing")
	case len(k.Version) > maxVersion || !componentVersion.MatchString(k.Version):
		p.add(version, "is %.150q; use a version such as 1.2.0", k.Version)
	}
}

// named gives access to what all elements have.
type named[T any] interface {
	*T
	element() *Element
}

func (e *Element) element() *Element { return e }

func checkElements[T any, P named[T]](p *problems, path string, elements []T, check func(P, *problems, string)) {
	seen := map[string]int{}
	for i := range elements {
		at := fmt.Sprintf("%s[%d]", path, i)
		e := P(&elements[i]).element()
		e.check(p, at)
		check(&elements[i], p, at)
		id := e.uniqueID()
		if before, twice := seen[id]; twice {
			p.add(at, "has the same name, version and extraIdentity as %s[%d]; tell them apart by extraIdentity", path, before)
			continue
		}
		seen[id] = i
	}
}

func (e *Element) check(p *problems, at string) {
	if e.Name == "" {
		p.add(at+".name", "is missing")
	}
	if _, bad := e.ExtraIdentity["name"]; bad {
		p.add(at+".extraIdentity.name", "is not allowed; the name is part of the identity already")
	}
	checkLabels(p, at+".labels", e.Labels)
}

func (r *Resource) check(p *problems, at string) {
	if r.Type == "" {
		p.add(at+".type", "is missing; say what the resource is, for example helmChart")
	}
	if r.Relation != "" && r.Relation != RelationLocal && r.Relation != RelationExternal {
		p.add(at+".relation", "is %q; use %s or %s", r.Relation, RelationLocal, RelationExternal)
	}
	if r.Access.IsZero() {
		p.add(at+".access", "is missing; say where the resource is, or use type: none")
	}
	r.Digest.check(p, at+".digest")
}

func (s *Source) check(p *problems, at string) {
	if s.Type == "" {
		p.add(at+".type", "is missing; say what the source is, for example git")
	}
}

func (r *Reference) check(p *problems, at string) {
	r.Key().check(p, at+".componentName", at+".version")
	r.Digest.check(p, at+".digest")
}

func (d *DigestSpec) check(p *problems, at string) {
	if d == nil {
		return
	}
	for _, part := range []struct{ name, value string }{
		{"hashAlgorithm", d.HashAlgorithm}, {"normalisationAlgorithm", d.NormalisationAlgorithm}, {"value", d.Value},
	} {
		if part.value == "" {
			p.add(at+"."+part.name, "is missing")
		}
	}
}

func checkLabels(p *problems, path string, labels []Label) {
	seen := map[string]bool{}
	for i, label := range labels {
		at := fmt.Sprintf("%s[%d].name", path, i)
		switch {
		case label.Name == "":
			p.add(at, "is missing")
		case seen[label.Name]:
			p.add(at, "is %q for the second time", label.Name)
		}
		seen[label.Name] = true
	}
}

func (d *Descriptor) checkSignatures(p *problems) {
	seen := map[string]bool{}
	for i, s := range d.Signatures {
		at := fmt.Sprintf("signatures[%d]", i)
		switch {
		case s.Name == "":
			p.add(at+".name", "is missing")
		case seen[s.Name]:
			p.add(at+".name", "is %q for the second time", s.Name)
		}
		seen[s.Name] = true
		s.Digest.check(p, at+".digest")
	}
}

// Shapes that the schemas of the OCM tools ask for.
var (
	ocmComponent    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\.[a-z]{2,}(/[a-z0-9]([-_.a-z0-9]*[a-z0-9])?)+$`)
	ocmName         = regexp.MustCompile(`^[a-z0-9][-_+a-z0-9]*[a-z0-9]$`)
	ocmLabelVersion = regexp.MustCompile(`^v[0-9]+$`)
	ocmVersion      = regexp.MustCompile(`^v?(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){0,2}` +
		`(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)
)

// CheckNames fails if names or versions are such that the OCM tools cannot read the component version. Validate is more tolerant, since much
// is published that OCM refuses by now. The error names all wrong fields by their path in the schema of the descriptor, with the cure.
func (d *Descriptor) CheckNames() error {
	p, paths := &problems{}, pathsOf(d.Schema)
	checkComponentName(p, paths.header+".name", d.Name)
	checkVersion(p, paths.header+".version", d.Version)
	checkLabelVersions(p, paths.header+".labels", d.Labels)
	checkLabelVersions(p, paths.header+".provider.labels", d.Provider.Labels)
	checkElementNames(p, paths.resources, d.Resources)
	checkElementNames(p, paths.sources, d.Sources)
	checkElementNames(p, paths.references, d.References)
	for i := range d.References {
		checkComponentName(p, fmt.Sprintf("%s[%d].componentName", paths.references, i), d.References[i].ComponentName)
	}
	if err := p.err(); err != nil {
		return fmt.Errorf("the OCM tools cannot read component %s: %w", d.Key(), err)
	}
	return nil
}

func checkComponentName(p *problems, at, name string) {
	if !ocmComponent.MatchString(name) {
		p.add(at, "is %.300q; write it in lower case with a domain, as in example.com/shop", name)
	}
}

func checkVersion(p *problems, at, version string) {
	if !ocmVersion.MatchString(version) {
		p.add(at, "is %.150q; write it as a semantic version such as 1.2.0, without leading zeros and underscores", version)
	}
}

func checkElementNames[T any, P named[T]](p *problems, path string, elements []T) {
	for i := range elements {
		e, at := P(&elements[i]).element(), fmt.Sprintf("%s[%d]", path, i)
		checkName(p, at+".name", e.Name)
		checkVersion(p, at+".version", e.Version)
		for _, key := range slices.Sorted(maps.Keys(e.ExtraIdentity)) {
			checkName(p, at+".extraIdentity", key)
		}
		checkLabelVersions(p, at+".labels", e.Labels)
	}
}

func checkName(p *problems, at, name string) {
	if !ocmName.MatchString(name) {
		p.add(at, "has %.300q; use two or more of lower-case letters, digits and -_+, with a letter or digit at both ends", name)
	}
}

func checkLabelVersions(p *problems, path string, labels []Label) {
	for i, label := range labels {
		if label.Version != "" && !ocmLabelVersion.MatchString(label.Version) {
			p.add(fmt.Sprintf("%s[%d].version", path, i), "is %.100q; write it as v1", label.Version)
		}
	}
}
