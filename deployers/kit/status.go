// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Reasons of the Ready condition that are not in fluxcd/pkg/apis/meta.
const (
	// ReasonNotTriggered says that changes are pending and nothing has started a job for them.
	ReasonNotTriggered = "ChangesPending"
	// ReasonSuspended says that changes are pending and spec.suspend is set.
	ReasonSuspended = "Suspended"
	// ReasonContinuousFailed says that a deploy item has failed in a job by the clock, since the last job.
	ReasonContinuousFailed = "ContinuousReconcileFailed"
	// ReasonChildLost says that somebody has deleted a child since the job that made it.
	ReasonChildLost = "ChildLost"
	// ReasonExportLost says that somebody has deleted an export since the job that published it.
	ReasonExportLost = "ExportLost"
	// ReasonAgentUnreachable says that a deploy item waits until the agent of the environment of its Target gives signs of life.
	ReasonAgentUnreachable = "AgentUnreachable"
	// ReasonDeployerBusy says that a deploy item waits beyond the pick-up timeout for a deployer that is alive.
	ReasonDeployerBusy = "DeployerBusy"
	// ReasonWaiting says that a deploy item waits for something on its target, or for its turn. The message says for what.
	ReasonWaiting = "Waiting"
	// ReasonDeleting says that the object is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonDrift says that deployed objects are not as the last job left them.
	ReasonDrift = "DriftDetected"
	// ReasonDeletesAll says that a job deletes all that the jobs before it have made, though nobody has deleted its object.
	ReasonDeletesAll = "DeletesAll"
)

// maxClockSkew is by how much the clocks of two processes may differ.
const maxClockSkew = 10 * time.Minute

// IsAhead reports whether a moment of a status is so far in the future that the clock which named it has been put back since, or was wrong. Such a moment
// says nothing: whoever counted from it would wait for as long as the clock was wrong by.
func IsAhead(moment, now time.Time) bool { return moment.After(now.Add(maxClockSkew)) }

// JobObject is an object that carries the job protocol in its status.
type JobObject interface {
	conditions.Setter
	// Job returns the part of the status that carries the job protocol.
	Job() *v1alpha1.JobStatus
}

// SetPhase sets the phase and, when it changes, its transition time.
func SetPhase(job *v1alpha1.JobStatus, phase v1alpha1.Phase, now time.Time) {
	if job.Phase == phase {
		return
	}
	job.Phase = phase
	job.PhaseTransitionTime = &metav1.Time{Time: now}
}

// Begin marks a job as running. Conditions that the API server would refuse go.
func Begin(obj JobObject, jobID string, phase v1alpha1.Phase, now time.Time) {
	KeepValidConditions(obj)
	job := obj.Job()
	job.JobID = jobID
	stamp := metav1.NewTime(now)
	job.TransitionTimes = &v1alpha1.TransitionTimes{TriggerTime: &stamp, InitTime: &stamp}
	job.LastError = nil
	SetPhase(job, phase, now)
}

// Progress shows what a running job does or waits for.
func Progress(obj JobObject, reason, message string) {
	reason, message = Reason(reason), Message(message)
	conditions.MarkReconciling(obj, reason, "%s", message)
	conditions.MarkUnknown(obj, meta.ReadyCondition, reason, "%s", message)
}

// Pending shows that the object does not correspond to its spec and that nothing is running.
func Pending(obj JobObject, reason, message string) {
	conditions.Delete(obj, meta.ReconcilingCondition)
	conditions.Delete(obj, meta.StalledCondition)
	conditions.MarkFalse(obj, meta.ReadyCondition, Reason(reason), "%s", Message(message))
}

// Succeed ends the running job well.
func Succeed(obj JobObject, message string, now time.Time) {
	job := obj.Job()
	job.LastError = nil
	finish(job, v1alpha1.PhaseSucceeded, now)
	conditions.Delete(obj, meta.ReconcilingCondition)
	conditions.Delete(obj, meta.StalledCondition)
	conditions.MarkTrue(obj, meta.ReadyCondition, meta.ReconciliationSucceededReason, "%s", message)
}

// Fail ends the running job badly. Reason, message and codes of the failure are bounded, because they may come from others. A job that has ended
// for the same cause already stays as it is: what keeps an ended job from being settled may last, and each write would bring the object back. Fail
// reports whether it has ended the job now.
func Fail(obj JobObject, failure *Failure, now time.Time) (ended bool) {
	job := obj.Job()
	phase := v1alpha1.PhaseFailed
	if !obj.GetDeletionTimestamp().IsZero() {
		phase = v1alpha1.PhaseDeleteFailed
	}
	last := job.LastError
	job.LastError = NewError(last, failure, now)
	if ended = !job.IsIdle() || job.Phase != phase || last == nil || !saysSame(last, job.LastError); ended {
		finish(job, phase, now)
	}
	ShowFailure(obj, failure)
	return ended
}

// ShowFailure shows why the last job has failed: as work in progress where it heals, because whoever waits for the object gives up at once on
// one that is Stalled.
func ShowFailure(obj JobObject, failure *Failure) {
	reason, message := Reason(failure.Reason), Message(failure.Error())
	if failure.Heals {
		conditions.MarkReconciling(obj, reason, "%s", message)
	} else {
		conditions.MarkStalled(obj, reason, "%s", message)
	}
	conditions.MarkFalse(obj, meta.ReadyCondition, reason, "%s", message)
}

// retryMessageAge is for how long a failure that is tried again stands at most before another one replaces it.
const retryMessageAge = time.Minute

// TryAgain shows a failure that is tried again. A message of which only the words change, as one with a counter does, replaces an earlier one
// at most once a minute: every write wakes the object before its back-off is over. Another failure is shown soon, but where failures take turns
// each stands as long as all before it, up to a minute.
func TryAgain(obj JobObject, failure *Failure, now time.Time) {
	job := obj.Job()
	last := job.LastError
	if last != nil && slices.Contains(last.Codes, v1alpha1.ErrorForInfoOnly) {
		last = nil
	}
	next := NewError(last, failure, now)
	if last != nil {
		next.LastTransitionTime = last.LastTransitionTime
		if now.Sub(last.LastUpdateTime.Time) < standsFor(last, next) && !IsAhead(last.LastUpdateTime.Time, now) {
			next = last
		}
	}
	job.LastError = next
	Progress(obj, meta.ProgressingWithRetryReason, next.Message)
}

// standsFor returns how long a failure that is tried again stays shown before next replaces it.
func standsFor(last, next *v1alpha1.Error) time.Duration {
	if isSameCause(last, next) {
		return retryMessageAge
	}
	return min(last.LastUpdateTime.Sub(last.LastTransitionTime.Time), retryMessageAge)
}

func finish(job *v1alpha1.JobStatus, phase v1alpha1.Phase, now time.Time) {
	SetPhase(job, phase, now)
	job.JobIDFinished = job.JobID
	if job.TransitionTimes == nil {
		job.TransitionTimes = &v1alpha1.TransitionTimes{}
	}
	job.TransitionTimes.FinishedTime = &metav1.Time{Time: now}
}

// NewError describes a failure for status, with bounds. Timestamps of previous are kept where nothing changed.
func NewError(previous *v1alpha1.Error, failure *Failure, now time.Time) *v1alpha1.Error {
	stamp := metav1.NewTime(now)
	next := &v1alpha1.Error{
		Operation: failure.Operation, Reason: Reason(failure.Reason), Message: Message(failure.Error()), Codes: boundCodes(failure.Codes),
		LastTransitionTime: stamp, LastUpdateTime: stamp,
	}
	if previous == nil {
		return next
	}
	if previous.Operation == next.Operation {
		next.LastTransitionTime = previous.LastTransitionTime
	}
	if saysSame(previous, next) {
		next.LastUpdateTime = previous.LastUpdateTime
	}
	return next
}

// isSameCause reports whether two errors differ in their words at most.
func isSameCause(a, b *v1alpha1.Error) bool {
	return a.Operation == b.Operation && a.Reason == b.Reason && slices.Equal(a.Codes, b.Codes)
}

// saysSame reports whether two errors differ in their times at most.
func saysSame(a, b *v1alpha1.Error) bool { return isSameCause(a, b) && a.Message == b.Message }

// ForgetDurations drops the durations that were recorded for an object that is gone. One that never had a finalizer of ours goes without a last
// reconciliation, and what is kept of it would stay as long as the process. Object is an empty one of its kind, which it changes.
func ForgetDurations(ctx context.Context, metrics controller.Metrics, object conditions.Getter, key types.NamespacedName) {
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(0, 0)})
	metrics.RecordDuration(ctx, object, time.Time{})
}
