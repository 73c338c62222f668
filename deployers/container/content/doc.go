// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package content packs what the program of a container DeployItem finds beside its imports: component descriptors, and the files of a blueprint. It
// knows nothing of Pods and Targets. It promises nothing to others.
package content
