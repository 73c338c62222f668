// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package containerimage makes container images out of static programs, without a container engine and without root: one layer, the same files give
// the same digest. It adds what a release needs: an image for each platform under one index, certificate authorities, and a bill of
// materials that registries keep as a referrer of the image. It promises nothing to others.
package containerimage
