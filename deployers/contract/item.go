// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// isDeleting reports whether an item is in deletion.
func isDeleting(item *v1alpha1.DeployItem) bool { return !item.DeletionTimestamp.IsZero() }

// targetName returns the name of the item's Target, empty when it has none.
func targetName(item *v1alpha1.DeployItem) string {
	if name := item.Annotations[v1alpha1.DeployerTargetNameAnnotation]; name != "" && name != v1alpha1.NoTargetName {
		return name
	}
	if item.Spec.Target == nil {
		return ""
	}
	return item.Spec.Target.Name
}

// testJob is how IDs of jobs begin that the test annotation asked for.
const testJob = "test-"

// isTestRequested reports whether the test annotation asks for a job.
func isTestRequested(item *v1alpha1.DeployItem) bool {
	return item.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationTestReconcile
}

// isGuarded reports whether status says that Flux keeps the test annotation of an item.
func isGuarded(item *v1alpha1.DeployItem) bool {
	return conditions.Has(item, protocol.OperationInGitCondition) && !protocol.IsInterruptKnown(item)
}

// lacksFinalizer reports whether an idle item that the named deployer has begun to deploy is without the finalizer that its deletion waits for. Without
// an Execution above nobody would give a deletion the job that takes the finalizer off again.
func lacksFinalizer(item *v1alpha1.DeployItem, deployer string) bool {
	by := item.Status.Deployer
	return by != nil && by.Name == deployer && item.Job().IsIdle() && !isDeleting(item) && protocol.ControllerOf(item, "Execution") != nil &&
		!controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer) && item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true"
}

// mayRepeat reports whether an item may get a job of its own: it has had one, for its present spec, and stays. An interrupt that is still there was for
// the last job, and would end the next one.
func mayRepeat(item *v1alpha1.DeployItem) bool {
	return hasHadJob(item) && !protocol.IsInterruptDue(item)
}

// hasHadJob reports whether the last job of an idle item that stays was for its present spec and type.
func hasHadJob(item *v1alpha1.DeployItem) bool {
	return item.Job().IsIdle() && !isDeleting(item) && item.Status.JobID != "" && item.Status.ObservedGeneration == item.Generation &&
		item.Status.LastReconcileTime != nil && protocol.FormerType(item) == ""
}

// isAtRest reports whether what an item says is what its last job has deployed.
func isAtRest(item *v1alpha1.DeployItem) bool {
	return hasHadJob(item) && item.Status.Phase == v1alpha1.PhaseSucceeded && !isTestRequested(item)
}

// goneAfter returns for how long the clusters of an item in deletion have to be gone until it is given up; 0 is for ever.
func goneAfter(item *v1alpha1.DeployItem) time.Duration {
	if !isDeleting(item) || item.Spec.OnDelete == nil || item.Spec.OnDelete.TargetGone == nil {
		return 0
	}
	return item.Spec.OnDelete.TargetGone.After.Duration
}

// takeoverGrace is the time that another deployer has to report the timeout of its job itself.
const takeoverGrace = 30 * time.Second

// isBegun reports whether the current job is under way according to the status.
func isBegun(item *v1alpha1.DeployItem) bool {
	phase := item.Status.Phase
	return phase != "" && !phase.IsFinal() && phase.IsDeletion() == isDeleting(item) && item.IsPickedUp()
}

// timeoutOf returns how long a job of an item may take, where none may take longer than longest; 0 is for ever.
func timeoutOf(item *v1alpha1.DeployItem, longest time.Duration) time.Duration {
	timeout := item.ProgressTimeout()
	if longest > 0 && (timeout <= 0 || timeout > longest) {
		timeout = longest
	}
	return max(timeout, 0)
}

// untilTakeover returns how long a deployer leaves a job that has begun to the one that began it: 0 when it is its own or when its time is up,
// -1 for ever, because the job has no limit.
func untilTakeover(item *v1alpha1.DeployItem, identity string, longest time.Duration, now time.Time) time.Duration {
	if by := item.Status.Deployer; by == nil || by.Identity == identity {
		return 0
	}
	timeout := timeoutOf(item, longest)
	if timeout == 0 {
		return -1
	}
	if protocol.IsAhead(began(item), now) {
		return 0
	}
	return max(beganAt(item, now).Add(timeout+takeoverGrace).Sub(now), 0)
}

// beganAt returns when the current job began according to the status, and now where that does not say it.
func beganAt(item *v1alpha1.DeployItem, now time.Time) time.Time {
	if began := began(item); !began.IsZero() && !protocol.IsAhead(began, now) {
		return began
	}
	return now
}

// began returns when the current job began, by the clock of whoever began it; zero where the status does not say it.
func began(item *v1alpha1.DeployItem) time.Time {
	began := item.Status.LastReconcileTime
	if times := item.Status.TransitionTimes; times != nil && times.InitTime != nil {
		began = times.InitTime
	}
	if began == nil {
		return time.Time{}
	}
	return began.Time
}

// begin writes into the status that a deployer has begun the job.
func begin(item *v1alpha1.DeployItem, by v1alpha1.DeployerInformation, now time.Time) {
	stamp(item, by, now)
	status := &item.Status
	status.LastError, status.FirstError, status.LastErrors, status.DeployItemPhase = nil, nil, nil, ""
	phase, message := v1alpha1.PhaseProgressing, "Deploying"
	if isDeleting(item) {
		phase, message = v1alpha1.PhaseDeleting, "Uninstalling"
	}
	protocol.SetPhase(item.Job(), phase, now)
	protocol.Progress(item, meta.ProgressingReason, message)
}

// stamp records which spec is handled, by whom and since when. The time is never before that of the request, whatever the clocks of
// the two processes say, because the order of the two tells whether the job was picked up.
func stamp(item *v1alpha1.DeployItem, by v1alpha1.DeployerInformation, now time.Time) {
	protocol.KeepValidConditions(item)
	status := &item.Status
	began := metav1.NewTime(now)
	if requested := status.JobIDGenerationTime; requested != nil && began.Before(requested) {
		began = *requested
	}
	status.ObservedGeneration = item.Generation
	status.LastReconcileTime = &began
	status.Deployer = &by
	if status.TransitionTimes == nil {
		status.TransitionTimes = &v1alpha1.TransitionTimes{}
	}
	times := status.TransitionTimes
	times.InitTime = &metav1.Time{Time: now}
	if times.TriggerTime == nil || times.FinishedTime != nil {
		times.TriggerTime = times.InitTime // nobody has requested a job since the last one ended
	}
	times.WaitTime, times.FinishedTime = nil, nil
}

// noteLost notes that an item has lost its record: its finalizer says that it has had a job, its status does not. It looks at items without an Execution
// only: an Execution makes its items with finalizer, and notes by itself what they lose.
func noteLost(item *v1alpha1.DeployItem) {
	if protocol.ControllerOf(item, "Execution") == nil && controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer) && protocol.IsUntouched(item) {
		protocol.MarkRecordLost(item)
	}
}

// maxErrors is how many errors of a job the status keeps.
const maxErrors = 5

// records are what a call of the deployer leaves in the status of an item.
type records struct {
	// ProviderStatus and Sources replace those of the status when set.
	ProviderStatus *runtime.RawExtension
	Sources        []v1alpha1.SourceStatus
	// Conditions are set beside others.
	Conditions []metav1.Condition
}

// After returns the records of a call that followed another one: what it did not record stays as the other has recorded it.
func (r records) After(earlier records) records {
	if r.ProviderStatus == nil {
		r.ProviderStatus = earlier.ProviderStatus
	}
	if r.Sources == nil {
		r.Sources = earlier.Sources
	}
	return r
}

// Write puts the records into the status. What says the same stays as the API server has formatted it, so that a comparison of the whole status
// finds no change.
func (r records) Write(item *v1alpha1.DeployItem) {
	recorded, has := r.ProviderStatus, item.Status.ProviderStatus
	if recorded != nil && (has == nil || !storage.SameRawJSON(recorded.Raw, has.Raw)) {
		item.Status.ProviderStatus = recorded
	}
	if r.Sources != nil && !slices.Equal(r.Sources, item.Status.Sources) {
		item.Status.Sources = slices.Clone(r.Sources)
		if len(r.Sources) == 0 {
			item.Status.Sources = nil
		}
	}
	for i := range r.Conditions {
		conditions.Set(item, r.Conditions[i].DeepCopy())
	}
}

// recordFailure writes an error into the status. It returns whether the message is new, so that it deserves an event.
func recordFailure(item *v1alpha1.DeployItem, failure *protocol.Failure, now time.Time) bool {
	status := &item.Status
	before := status.LastError
	status.LastError = protocol.NewError(before, failure, now)
	if before != nil && before.Message == status.LastError.Message {
		return false
	}
	if status.FirstError == nil {
		status.FirstError = status.LastError.DeepCopy()
	}
	status.LastErrors = append(status.LastErrors, status.LastError.DeepCopy())
	if surplus := len(status.LastErrors) - maxErrors; surplus > 0 {
		status.LastErrors = status.LastErrors[surplus:]
	}
	return true
}
