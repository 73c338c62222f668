// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

// raceMemory is how many times the memory that a program takes with the race detector, at most.
const raceMemory = 8

// Sanitized returns the bytes that a program of ours may take in place of the given ones, which are for one without the race detector.
func Sanitized(bytes int64) int64 {
	if RaceDetector {
		return bytes * raceMemory
	}
	return bytes
}
