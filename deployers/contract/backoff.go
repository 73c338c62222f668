// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import "time"

const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// backoff returns the pause before the next attempt, 0 being the first: 250 ms, doubled up to 30 s.
func backoff(attempt int) time.Duration {
	if attempt >= 7 {
		return maxBackoff
	}
	return min(minBackoff<<max(attempt, 0), maxBackoff)
}
