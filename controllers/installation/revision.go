// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"time"

	"github.com/fluxcd/pkg/apis/meta"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
)

// recordRevision enters into the status of an Installation, whose job has just ended, which revision the job used, and what it deployed as
// newest entry of the history. A job whose spec was replaced after the children got it used what recordJob noted, and leaves no entry: nobody has
// that spec any more.
func (s *scope) recordRevision() {
	status := &s.inst.Status
	replaced := s.inst.Generation != status.ObservedGeneration && s.someHaveJob()
	if !replaced {
		status.LastAttemptedRevision = jobs.RevisionOf(s.inst)
	}
	if status.Phase == v1alpha1.PhaseSucceeded {
		status.LastAppliedRevision = status.LastAttemptedRevision
	}
	if replaced {
		return
	}
	took := time.Duration(0)
	if times := status.TransitionTimes; times != nil && times.TriggerTime != nil {
		took = max(s.now.Sub(times.TriggerTime.Time), 0).Round(time.Second)
	}
	var metadata map[string]string
	if revision := status.LastAttemptedRevision; revision != "" {
		metadata = map[string]string{"revision": revision}
	}
	history := meta.History(status.History)
	history.Upsert(jobs.ContentOf(s.inst), s.now, took, string(status.Phase), metadata)
	status.History = history
}
