// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package release makes the files of a release out of a checkout and the programs built from it: images, manifests for kubectl and for Flux, charts, CRDs
// and their schemas, archives of the command line, bills of materials, checksums and a signature. The same checkout and programs give the
// same files. It promises nothing to others.
package release
