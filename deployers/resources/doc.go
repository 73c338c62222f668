// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package resources holds what all work of a deployer on single objects of a target shares: the session of one call, desired objects, whose an
// object is, records, and progress (spec/deployers.md §6). The manifest deployer and the helm deployer share it. The work is in the packages below.
//
// Nothing in these packages waits or polls. What is not there yet comes back as a Progress that names it for a person and lists
// the objects to watch. It promises nothing to others.
package resources
