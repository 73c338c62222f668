// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package relations says how Installations are related: which one owns another, which objects flow between siblings, and in which order that
// puts them. It writes nothing. It promises nothing to others.
package relations

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Finder finds the Installations that one is related to.
type Finder struct {
	// Reader reads from caches with the indexes of this package.
	client.Reader
	// Live reads from the API server.
	Live client.Reader
}
