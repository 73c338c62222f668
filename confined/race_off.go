// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package confined

// underRaceDetector is false without the race detector.
const underRaceDetector = false
