// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package fetch turns an artifact that a Flux source offers (a URL and a digest) into files that can be read.
//
// Every artifact is verified against its digest, held to size limits and kept in a cache on disk under that digest, so
// that any number of consumers of one revision cause one download, before and after a restart. Nothing becomes visible
// before it is verified and complete, and a reader cannot leave the tree that it opened.
//
// A Store owns its directory: two processes must not share one. It promises nothing to others.
package fetch
