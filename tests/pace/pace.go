// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package pace holds the times that tests expect, on quiet machines and on busy ones. It promises nothing to importers.
package pace

import (
	"os"
	"time"
)

const (
	// setting is the environment variable that tells how exact the times of tests are.
	setting = "TEST_PACE"
	// exact is the value of setting by which each time has to be kept. make bench sets it and runs one test after the other.
	exact = "exact"
	// busy is how many times longer things may take on a machine on which all suites run side by side.
	busy = 30
)

// Within returns the time in which something has to end that a quiet machine ends within the given one. It is thirty times as long unless the
// environment variable TEST_PACE is "exact": what is bounded there is that something ends at all, not how fast the machine is.
func Within(quiet time.Duration) time.Duration {
	if IsExact() {
		return quiet
	}
	return busy * quiet
}

// IsExact reports whether tests run one after the other on a quiet machine. Times so short that a busy machine says nothing of them are looked at there only.
func IsExact() bool { return os.Getenv(setting) == exact }
