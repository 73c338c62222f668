// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package kit holds what every reconciler shares, those of controllers and of deployers: steps, the three kinds of failures and their
// translation into status, the guard against stale caches, writes with preconditions, and the names of objects that flow between
// Installations. It promises nothing to others.
package kit
