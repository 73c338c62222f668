// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

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
