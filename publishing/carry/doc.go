// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package carry takes over content that lies elsewhere, so that a component version needs no other place than its own: OCI artifacts of other
// registries, charts of Helm repositories, files of web servers. Everything is streamed through the disk and held to its digest.
// It promises nothing to others.
package carry
