// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package template runs the two template languages of blueprints, GoTemplate and Spiff, on bindings and the files of one
// blueprint. A template reaches nothing else: no environment, no file outside the blueprint, no network. What needs a registry or
// a cluster is a capability that the caller hands in with the Input. Every execution has a Budget of time, output, depth, file
// size and steps, so that a runaway template ends with an error instead of taking the process with it. It promises nothing to others.
package template
