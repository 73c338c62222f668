// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import "k8s.io/apimachinery/pkg/runtime"

// Manifest is an object of a landscape in a file.
type Manifest struct {
	// File and Line are where it is, Kind, Namespace and Name what it says that it is.
	File, Kind, Namespace, Name string
	Line                        int
	// Object is a pointer to the Go type of the kind.
	Object any
	// Sealed says that SOPS has encrypted values of it, FilledIn that its text has marks like ${name}, where Flux may write something.
	Sealed, FilledIn bool
}

// Manifests returns the objects that Landscape checks, in the order of the files, without checking them.
func Manifests(places []Place) ([]Manifest, error) {
	l := newLandscape(places)
	l.isUnchecked = true
	if err := l.read(); err != nil {
		return nil, err
	}
	return l.manifests(), nil
}

// ManifestsIn returns the objects in a text, which is said to be a file.
func ManifestsIn(file string, text []byte) ([]Manifest, error) {
	l := newLandscape(nil)
	if err := l.read(); err != nil {
		return nil, err
	}
	(&walk{landscape: l}).documents(file, text)
	return l.manifests(), nil
}

func (l *landscape) manifests() (found []Manifest) {
	for _, o := range l.objects {
		found = append(found, Manifest{
			File: o.file, Line: o.at("metadata.name").line, Kind: o.kind, Namespace: o.namespace, Name: o.name, Object: o.typed,
			Sealed: o.isSealed, FilledIn: isFilledIn(string(o.raw)),
		})
	}
	return found
}

func newLandscape(places []Place) *landscape {
	return &landscape{
		reporter: reporter{report: &Report{Findings: []Finding{}}, rule: ruleDocument}, places: places, scheme: runtime.NewScheme(),
		files: map[string]bool{}, named: map[string][]*object{}, exported: map[string][]reference{},
	}
}
