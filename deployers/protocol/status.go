// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
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

// Cause is why the work of a job is not done yet. The zero Cause is none.
type Cause struct {
	// Reason is that of the condition Reconciling: meta.ProgressingWithRetryReason, or what the job waits for.
	Reason string
	// Message says it in full, with the way to it.
	Message string
}

// CauseOf returns why the running job of an object, or work below it, waits or is tried again; none where it only says that it is at work.
func CauseOf(obj JobObject) Cause {
	shown := conditions.Get(obj, meta.ReconcilingCondition)
	if obj.Job().IsIdle() || shown == nil || shown.Status != metav1.ConditionTrue ||
		shown.Reason == meta.ProgressingReason || shown.Reason == ReasonDeleting {
		return Cause{}
	}
	return Cause{shown.Reason, shown.Message}
}

// IsStuck reports whether the cause is one that may stay until a person acts: work that is tried again, or that nobody begins.
func (c Cause) IsStuck() bool {
	return c.Reason == meta.ProgressingWithRetryReason || c.Reason == ReasonAgentUnreachable || c.Reason == ReasonDeployerBusy
}

// Below returns the cause as an object above shows it, with the way to it; none stays none.
func (c Cause) Below(way string) Cause {
	if c.Message != "" {
		c.Message = way + ": " + c.Message
	}
	return c
}

// ShowCause shows on an object at work why work below it is not done, or, when there is no cause, otherwise in place of a cause that is over. A
// cause that differs in numbers only, as counters and addresses do, is not shown anew.
func ShowCause(obj JobObject, cause Cause, otherwise string) {
	shown := CauseOf(obj)
	switch {
	case cause.Message == "" && shown.Message != "":
		Progress(obj, meta.ProgressingReason, otherwise)
	case cause.Message != "" && (shown.Reason != Reason(cause.Reason) || withoutNumbers(shown.Message) != withoutNumbers(Message(cause.Message))):
		Progress(obj, cause.Reason, cause.Message)
	}
}

// withoutNumbers replaces the words of a text that hold a digit.
func withoutNumbers(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if strings.ContainsAny(word, "0123456789") {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}

// What the schema of conditions demands.
var (
	conditionType   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
	conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
)

const (
	maxConditionType    = 316
	maxConditionReason  = 1024
	maxConditionMessage = 32768
)

// KeepValidConditions removes the conditions of an object that the API server would refuse, with the whole status that they are in: those
// with invalid values, and all but the first of a type. Objects that Gardener Landscaper wrote have such conditions.
func KeepValidConditions(obj conditions.Setter) {
	all := obj.GetConditions()
	seen := map[string]bool{}
	valid := slices.DeleteFunc(slices.Clone(all), func(c metav1.Condition) bool {
		if isInvalidCondition(c) || seen[c.Type] {
			return true
		}
		seen[c.Type] = true
		return false
	})
	if len(valid) < len(all) {
		obj.SetConditions(valid)
	}
}

func isInvalidCondition(c metav1.Condition) bool {
	status := c.Status == metav1.ConditionTrue || c.Status == metav1.ConditionFalse || c.Status == metav1.ConditionUnknown
	return !status || c.LastTransitionTime.IsZero() || c.ObservedGeneration < 0 ||
		len(c.Type) > maxConditionType || !conditionType.MatchString(c.Type) ||
		len(c.Reason) > maxConditionReason || !conditionReason.MatchString(c.Reason) ||
		len([]rune(c.Message)) > maxConditionMessage
}

// driftPrefix begins the message of the condition Drifted.
const driftPrefix = "Not as deployed: "

// DriftOf returns what ShowDrift shows of an object, empty where nothing has drifted.
func DriftOf(obj conditions.Getter) string {
	if !conditions.IsTrue(obj, v1alpha1.DriftedCondition) {
		return ""
	}
	return strings.TrimPrefix(conditions.GetMessage(obj, v1alpha1.DriftedCondition), driftPrefix)
}

// ShowDrift shows which of the objects below one are not as their last job left them on the target, by what a person calls them.
func ShowDrift(obj conditions.Setter, drifted []string) {
	if len(drifted) == 0 {
		conditions.Delete(obj, v1alpha1.DriftedCondition)
		return
	}
	slices.Sort(drifted)
	conditions.MarkTrue(obj, v1alpha1.DriftedCondition, ReasonDrift, "%s", Message(driftPrefix+strings.Join(drifted, ", ")))
}

// What an item says of the status that it has lost.
const (
	reasonStatusRemoved  = "StatusRemoved"
	statusRemovedMessage = "no status says any more what this item has deployed; its deployer looks on the target for what carries its marks"
)

// IsUntouched reports whether nothing in the status of an item says that a deployer has ever begun a job of it. Deployers write that they begin before
// they do anything, and what they write stays; a phase without a trace of a deployer comes from an interruption or from the pick-up timeout.
func IsUntouched(item *v1alpha1.DeployItem) bool {
	status := &item.Status
	switch status.Phase {
	case "", v1alpha1.PhaseFailed, v1alpha1.PhaseDeleteFailed:
	default:
		return false
	}
	return !conditions.Has(item, v1alpha1.RecordLostCondition) && status.Deployer == nil && status.LastReconcileTime == nil && status.ObservedGeneration <= 0 &&
		status.ProviderStatus == nil && status.ExportReference == nil
}

// MarkRecordLost notes that the status of an item, which recorded what earlier jobs have deployed, was removed.
func MarkRecordLost(item *v1alpha1.DeployItem) {
	conditions.MarkTrue(item, v1alpha1.RecordLostCondition, reasonStatusRemoved, "%s", statusRemovedMessage)
}

// UnknownKey is the reason of what is said about keys that nobody knows.
const UnknownKey = "UnknownKey"

// NoteUnknownKeys sets or removes the condition about keys without effect, and reports whether it names other keys than before. In names the document,
// and stands before the keys.
func NoteUnknownKeys(obj conditions.Setter, in string, keys []document.Key) bool {
	if len(keys) == 0 {
		conditions.Delete(obj, v1alpha1.UnknownKeysCondition)
		return false
	}
	before := conditions.GetMessage(obj, v1alpha1.UnknownKeysCondition)
	conditions.MarkTrue(obj, v1alpha1.UnknownKeysCondition, UnknownKey, "%s", Message(in+document.List(keys)))
	return conditions.GetMessage(obj, v1alpha1.UnknownKeysCondition) != before
}
