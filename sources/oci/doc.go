// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package oci pulls artifacts (charts, blueprints, component versions) from OCI registries.
//
// A tag is resolved at every pull with the caller's own credentials; only then may a cached copy be served, and only one
// of the same repository. So a thousand pulls of one artifact cause one download, and nobody receives what the registry
// would refuse. Content is verified against its digest and held to size limits. Credentials appear in no error and no log.
// It promises nothing to others.
package oci
