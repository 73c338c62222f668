// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// takeoverGrace is the time that another deployer has to report the timeout of its job itself.
const takeoverGrace = 30 * time.Second

// IsBegun reports whether the current job is under way according to the status.
func IsBegun(item *v1alpha1.DeployItem) bool {
	phase := item.Status.Phase
	return phase != "" && !phase.IsFinal() && phase.IsDeletion() == IsDeleting(item) && item.IsPickedUp()
}

// Timeout returns how long a job of an item may take, where none may take longer than longest; 0 is for ever.
func Timeout(item *v1alpha1.DeployItem, longest time.Duration) time.Duration {
	timeout := item.ProgressTimeout()
	if longest > 0 && (timeout <= 0 || timeout > longest) {
		timeout = longest
	}
	return max(timeout, 0)
}

// UntilTakeover returns how long a deployer leaves a job that has begun to the one that began it: 0 when it is its own or when its time is up,
// -1 for ever, because the job has no limit.
func UntilTakeover(item *v1alpha1.DeployItem, identity string, longest time.Duration, now time.Time) time.Duration {
	if by := item.Status.Deployer; by == nil || by.Identity == identity {
		return 0
	}
	timeout := Timeout(item, longest)
	if timeout == 0 {
		return -1
	}
	if kit.IsAhead(began(item), now) {
		return 0
	}
	return max(Began(item, now).Add(timeout+takeoverGrace).Sub(now), 0)
}

// Began returns when the current job began according to the status, and now where that does not say it.
func Began(item *v1alpha1.DeployItem, now time.Time) time.Time {
	if began := began(item); !began.IsZero() && !kit.IsAhead(began, now) {
		return began
	}
	return now
}

// began returns when the current job began, by the clock of whoever began it; zero where the status does not say it.
func began(item *v1alpha1.DeployItem) time.Time {
	if times := item.Status.TransitionTimes; times != nil && times.InitTime != nil {
		return times.InitTime.Time
	}
	if began := item.Status.LastReconcileTime; began != nil {
		return began.Time
	}
	return time.Time{}
}

// Begin writes into the status that a deployer has begun the job.
func Begin(item *v1alpha1.DeployItem, by v1alpha1.DeployerInformation, now time.Time) {
	Stamp(item, by, now)
	status := &item.Status
	status.LastError, status.FirstError, status.LastErrors, status.DeployItemPhase = nil, nil, nil, ""
	phase, message := v1alpha1.PhaseProgressing, "Deploying"
	if IsDeleting(item) {
		phase, message = v1alpha1.PhaseDeleting, "Uninstalling"
	}
	kit.SetPhase(item.Job(), phase, now)
	kit.Progress(item, meta.ProgressingReason, message)
}

// Stamp records which spec is handled, by whom and since when. The time is never before that of the request, whatever the clocks of
// the two processes say, because the order of the two tells whether the job was picked up.
func Stamp(item *v1alpha1.DeployItem, by v1alpha1.DeployerInformation, now time.Time) {
	kit.KeepValidConditions(item)
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
	status.TransitionTimes.InitTime = &metav1.Time{Time: now}
	status.TransitionTimes.WaitTime, status.TransitionTimes.FinishedTime = nil, nil
}

// NoteLost notes that an item has lost its record: its finalizer says that it has had a job, its status does not. It looks at items without an Execution
// only: an Execution makes its items with finalizer, and notes by itself what they lose.
func NoteLost(item *v1alpha1.DeployItem) {
	if kit.ControllerOf(item, "Execution") == nil && controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer) && kit.IsUntouched(item) {
		kit.MarkRecordLost(item)
	}
}
