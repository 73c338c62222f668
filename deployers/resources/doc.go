// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package resources manages single objects on a target: it applies them by policy and strategy, removes those that are no
// longer wanted, decides when they are ready and reads exports from them (spec/deployers.md §6). The manifest deployer and the
// helm deployer share it.
//
// Nothing in this package waits or polls. What is not there yet comes back as a Progress that names it for a person and lists
// the objects to watch. It promises nothing to others.
package resources
