// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package images makes the container images that tests run: a static program alone, or with a shell.
package images
