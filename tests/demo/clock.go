// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// A clock tells how often an object has run and how long the latest run took, as seen from here: the times in a status are whole seconds.
type clock struct {
	runs     int
	run      string // what the latest run is known by: a job ID or a revision
	started  time.Time
	ended    time.Time
	lastDone string
}

// begin notes that a run is going on. An empty id is a run that has not got its own yet.
func (c *clock) begin(id string, now time.Time) {
	waiting := c.run == "" && c.ended.IsZero() && !c.started.IsZero()
	if c.run == id && c.ended.IsZero() && !c.started.IsZero() {
		return
	}
	c.run = id
	if !waiting {
		c.started = now
	}
	c.ended = time.Time{}
}

// end notes that the run has ended, now unless it was known before.
func (c *clock) end(id string, now time.Time) {
	if id == "" || id == c.lastDone {
		return
	}
	if c.run != id {
		c.begin(id, now)
	}
	c.ended, c.lastDone = now, id
	c.runs++
}

// took is the length of the latest run, or of what has passed of it.
func (c *clock) took(now time.Time) time.Duration {
	switch {
	case c.started.IsZero():
		return 0
	case c.ended.IsZero():
		return now.Sub(c.started)
	default:
		return c.ended.Sub(c.started)
	}
}

// followJob moves the clock by the job protocol.
func (c *clock) followJob(job *v1alpha1.JobStatus, now time.Time) {
	if job.IsIdle() && job.JobID != "" {
		c.end(job.JobIDFinished, now)
		return
	}
	c.begin(job.JobID, now)
}

// followRevision moves the clock by what is wanted and what is there.
func (c *clock) followRevision(wanted, applied string, now time.Time) {
	if wanted == "" {
		return
	}
	if wanted == applied {
		c.end(wanted, now)
		return
	}
	c.begin(wanted, now)
}
