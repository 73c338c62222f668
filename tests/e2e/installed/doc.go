// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package installed installs releases as a user does: Flux takes the manifests from a registry, and Pods on a real node run the image.
package installed
