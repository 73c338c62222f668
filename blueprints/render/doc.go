// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package render turns a blueprint with its imports into deploy items, sub-installations and exports. It is pure: the same input
// gives the same output, apart from what templates do with the clock and random numbers. The controller and the command line use
// the same functions. It promises nothing to others.
package render
