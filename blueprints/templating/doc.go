// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package templating runs the two template languages of blueprints, GoTemplate and Spiff, on bindings and the files of one
// blueprint. A template reaches nothing else: no environment, no file outside the blueprint, no network. What needs a registry or
// a cluster is a capability that the caller hands in with the Input. Nothing here ends a template that does not
// end by itself: run those of others in a process that can be killed, as package confined/rendering does. It promises nothing
// to others.
package templating
