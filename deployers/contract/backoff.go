// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import "time"

// Delays before the next attempt of a job that failed.
const (
	// DefaultMinRetryDelay is that before the second attempt.
	DefaultMinRetryDelay = 250 * time.Millisecond
	// DefaultMaxRetryDelay is the longest.
	DefaultMaxRetryDelay = 30 * time.Second
)

// backoff returns the pause before the next attempt, 0 being the first: the shortest, doubled up to the longest.
func (o *Options) backoff(attempt int) time.Duration {
	delay := o.MinRetryDelay
	for range attempt {
		if delay >= o.MaxRetryDelay {
			break
		}
		delay *= 2
	}
	return min(delay, o.MaxRetryDelay)
}

const (
	minWatchBackoff = 250 * time.Millisecond
	maxWatchBackoff = 30 * time.Second
)

// watchBackoff returns the pause before a watch is opened again.
func watchBackoff(attempt int) time.Duration {
	if attempt >= 7 {
		return maxWatchBackoff
	}
	return min(minWatchBackoff<<max(attempt, 0), maxWatchBackoff)
}
