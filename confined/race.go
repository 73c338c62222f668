// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package confined

func init() { underRaceDetector = true }
