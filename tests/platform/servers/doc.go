// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package servers serves inside the test what clusters read from: Git repositories, an OCI registry, an object store, a sink for events; and
// packs what is put into them. It knows nothing of clusters.
package servers
