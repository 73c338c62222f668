// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package confined

// underRaceDetector: the shadow memory of the detector counts as memory of the process.
const underRaceDetector = true
