// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package programs

// RaceDetector reports whether this test binary, and so every binary that it builds, looks for data races.
const RaceDetector = false
