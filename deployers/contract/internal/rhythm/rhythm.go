// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package rhythm knows when the clock starts the next job of an item; pure.
package rhythm

import (
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/schedule"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	// precision is by how much a moment may be later than the status says, which has whole seconds.
	precision = time.Second
	// longest is the longest interval that can be added to.
	longest = 100 * 365 * 24 * time.Hour
)

// Rhythm says how jobs that the clock starts follow each other.
type Rhythm struct {
	Jitter kit.Jitter
	// Rest is the least time between the end of a job and the next one.
	Rest time.Duration
}

// Due returns when the clock starts the next job of an item; false when it starts none. The instant follows from what the status says, so that
// it is the same after a restart. It is never before that of the configuration.
func (r Rhythm) Due(item *v1alpha1.DeployItem, spec *managedresource.ContinuousReconcileSpec) (time.Time, bool) {
	due, found := r.After(item, spec, item.Status.LastReconcileTime.Time)
	if !found {
		return time.Time{}, false
	}
	if spec.Every != nil && spec.Every.Duration < longest {
		due = due.Add(precision)
	}
	if times := item.Status.TransitionTimes; times != nil && times.FinishedTime != nil {
		if rested := times.FinishedTime.Add(precision + r.Rest); rested.After(due) {
			return rested, true
		}
	}
	return due, true
}

// IsAhead reports whether the last job was, as the status says, at a time that is still to come.
func IsAhead(item *v1alpha1.DeployItem, now time.Time) bool {
	times := item.Status.TransitionTimes
	return kit.IsAhead(item.Status.LastReconcileTime.Time, now) || times != nil && times.FinishedTime != nil && kit.IsAhead(times.FinishedTime.Time, now)
}

// After returns the instant that follows a moment. An interval is made longer by the jitter; a schedule is exact.
func (r Rhythm) After(item *v1alpha1.DeployItem, spec *managedresource.ContinuousReconcileSpec, moment time.Time) (time.Time, bool) {
	if spec.Every != nil {
		return moment.Add(r.Jitter.Delay(spec.Every.Duration, string(item.UID)+"/"+item.Status.JobIDFinished)), true
	}
	parsed, err := schedule.Parse(spec.Cron)
	if err != nil {
		return time.Time{}, false
	}
	return parsed.Next(moment)
}
