// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/schedule"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Intervals of spec.automaticReconcile that are not given.
const (
	defaultSucceededInterval = 24 * time.Hour
	defaultFailedInterval    = 5 * time.Minute
)

// shortestInterval is the least time between two jobs: one nanosecond would start the next with the end of the last, for ever.
const shortestInterval = 10 * time.Second

// dueByClock reports whether spec.automaticReconcile starts a job now, and otherwise asks to be woken at the instant when it does.
func (s *reconciliation) dueByClock() bool {
	due, ok := s.nextAutomatic()
	if !ok {
		return false
	}
	if due.After(s.Now) {
		s.Wake(due.Sub(s.Now))
		return false
	}
	s.automatic = true
	return true
}

// nextAutomatic returns when the clock starts the next job of an idle root; false when it starts none.
func (s *reconciliation) nextAutomatic() (time.Time, bool) {
	inst := s.Inst
	config := inst.Spec.AutomaticReconcile
	times := inst.Status.TransitionTimes
	if config == nil || inst.Spec.Suspend || !inst.IsRoot() || times == nil || times.FinishedTime == nil ||
		inst.Status.ObservedGeneration != inst.Generation {
		return time.Time{}, false
	}
	finished := times.FinishedTime.Time
	if kit.IsAhead(finished, s.Now) {
		finished = time.Time{}
	}
	switch {
	case inst.Status.Phase == v1alpha1.PhaseSucceeded && config.SucceededReconcile != nil:
		return s.nextInstant(finished, config.SucceededReconcile.CronSpec, config.SucceededReconcile.Interval, defaultSucceededInterval)
	case inst.Status.Phase.IsFailed() && config.FailedReconcile != nil:
		return s.nextRetry(config.FailedReconcile, finished)
	}
	return time.Time{}, false
}

// nextRetry returns when a failed job is tried again: at once after the first failure, then by the interval, as often as allowed.
func (s *reconciliation) nextRetry(config *v1alpha1.FailedReconcile, finished time.Time) (time.Time, bool) {
	counter := s.Inst.Status.AutomaticReconcileStatus
	counted := int32(0)
	if counter != nil && counter.OnFailed && counter.Generation == s.Inst.Generation {
		counted = counter.NumberOfReconciles
	}
	if limit := config.NumberOfReconciles; limit != nil && counted >= *limit {
		return time.Time{}, false
	}
	if counted == 0 {
		return finished, true
	}
	return s.nextInstant(finished, config.CronSpec, config.Interval, defaultFailedInterval)
}

// nextInstant returns the instant after a moment that a schedule or an interval names. "none" is no interval at all; a schedule that
// cannot be read was refused with the spec. A schedule is exact; intervals are spread, the same way whenever they are computed for a job.
func (s *reconciliation) nextInstant(from time.Time, expression string, interval *v1alpha1.Duration, standard time.Duration) (time.Time, bool) {
	if expression != "" {
		parsed, err := schedule.Parse(expression)
		if err != nil {
			return time.Time{}, false
		}
		return parsed.Next(from)
	}
	seed := string(s.Inst.UID) + "/" + s.Inst.Status.JobIDFinished
	if interval == nil {
		return from.Add(s.jitter.Spread(standard, seed)), true
	}
	return from.Add(max(s.jitter.Spread(interval.Duration, seed), shortestInterval)), interval.Duration > 0
}

// clockReason says why the clock starts a job.
func (s *reconciliation) clockReason() string {
	if s.Inst.Status.Phase.IsFailed() {
		return "automatic retry after a failure"
	}
	return "automatic reconciliation"
}

// countAutomatic counts a job that the clock starts, or that says of itself that it is a retry. Every other job begins from zero.
func (s *reconciliation) countAutomatic() {
	status := &s.Inst.Status
	if !s.automatic && !s.isRetry() {
		status.AutomaticReconcileStatus = nil
		return
	}
	failed, counted := status.Phase.IsFailed(), int32(0)
	if last := status.AutomaticReconcileStatus; last != nil && last.OnFailed == failed {
		counted = last.NumberOfReconciles
	}
	status.AutomaticReconcileStatus = &v1alpha1.AutomaticReconcileStatus{
		Generation: s.Inst.Generation, NumberOfReconciles: counted + 1, LastReconcileTime: metav1.NewTime(s.Now), OnFailed: failed,
	}
}

// forgetCounter drops a counter of the other kind than what just happened.
func (s *reconciliation) forgetCounter(failed bool) {
	if counter := s.Inst.Status.AutomaticReconcileStatus; counter != nil && counter.OnFailed != failed {
		s.Inst.Status.AutomaticReconcileStatus = nil
	}
}

// announceRetry shows a failure that the clock will try again as work in progress: nobody has to act yet.
func (s *reconciliation) announceRetry(failure *kit.Failure) {
	s.forgetCounter(true)
	due, ok := s.nextAutomatic()
	if !ok {
		return
	}
	message := fmt.Sprintf("tried again at %s: %s", due.UTC().Format(time.RFC3339), failure.Error())
	conditions.Delete(s.Inst, meta.StalledCondition)
	conditions.MarkReconciling(s.Inst, meta.ProgressingWithRetryReason, "%s", message)
	conditions.MarkFalse(s.Inst, meta.ReadyCondition, failure.Reason, "%s", message)
}
