// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import "errors"

// ErrNotFound says that there is no such component version, resource, reference or blob.
var ErrNotFound = errors.New("not found")

// RelativeReference leads from a component along references to a resource. Each step is an identity: name and, where needed, the extra
// identity.
type RelativeReference struct {
	// Path are the references to follow.
	Path []map[string]string
	// Resource at the end; nil when the reference ends at a component.
	Resource map[string]string
}

// ParseReference reads a cd:// URI, YAML or JSON of an OCM relative reference {resource: {name}, referencePath: [{name}]}, or such
// an object as JSON-like data.
func ParseReference(reference any) (RelativeReference, error) {
	return RelativeReference{}, errors.New("not yet")
}
