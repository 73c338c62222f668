// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package formats reads and writes component versions as they lie in files and registries: component archives, CTFs, artifact sets,
// directories, and the manifests of OCI artifacts. It knows files only, no registry. It promises nothing to others.
package formats
