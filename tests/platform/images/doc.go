// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package images makes container images of one layer out of files of this machine, without a container engine: static programs alone, or
// with a shell. The same files give the same image, to the digest.
package images
