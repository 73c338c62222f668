// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package flux finds the artifact behind a sourceRef: it looks a Flux source up, judges whether its artifact may be used,
// and tells controllers which changes of a source concern whoever refers to it.
//
// The sources are those of the source.toolkit.fluxcd.io/v1 API. Scheme and watches belong to the caller; the scheme of the
// reader must know that API (AddToScheme). It promises nothing to others.
package flux
