// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// minInterval is the shortest interval of checks, as the schema says.
	minInterval = time.Minute
	// restTime is the least time between two checks of a Target, however often it or its Secret changes.
	restTime = 5 * time.Second
	// maxDoublings is how often the interval doubles while checks fail one after the other.
	maxDoublings = 3
)

// state is what the outcome of a check depends on, as far as the landscaper cluster knows.
type state struct {
	uid        types.UID
	generation int64
	requested  string
	// secret is the Secret with the content, and its version.
	secret string
}

// pauseAfter returns the time from one check to the next, after a number of checks that failed one after the other.
func pauseAfter(interval time.Duration, failures int) time.Duration {
	doublings := max(min(failures-1, maxDoublings), 0)
	return max(interval, minInterval) << doublings
}

// visit is what the process knows about the checks of one Target. It belongs to the worker of that.
type visit struct {
	// state is that of the last check, which began at began.
	state state
	began time.Time
	// found is what a check has found out and nobody has written yet.
	found *finding
	// next is when the clock starts the next check.
	next     time.Time
	failures int
}

// take returns what a check has found out, if the Target still is as it was then. Its Secret need not be: the next check is of that.
func (v *visit) take(now state) *finding {
	found := v.found
	v.found = nil
	now.secret = v.state.secret
	if found == nil || v.state != now {
		return nil
	}
	return found
}

// schedule plans the next check after one whose outcome is written.
func (v *visit) schedule(now time.Time, found *finding, pause func(failures int) time.Duration) {
	if v.failures++; found.problem == nil {
		v.failures = 0
	}
	v.next = now.Add(pause(v.failures))
}

// begin reports whether a check of the present state begins now, and else how long to wait for it.
func (v *visit) begin(now time.Time, present state) (wait time.Duration, begins bool) {
	due := v.next
	if v.state != present {
		due = v.began.Add(restTime)
	}
	if wait := due.Sub(now); wait > 0 {
		return wait, false
	}
	v.state, v.began = present, now
	return 0, true
}
