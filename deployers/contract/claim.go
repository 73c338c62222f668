// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func isTestRequested(item *v1alpha1.DeployItem) bool {
	return item.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationTestReconcile
}

// testJob is how IDs of jobs begin that the test annotation asked for.
const testJob = "test-"

func isTestJob(id string) bool { return strings.HasPrefix(id, testJob) }

// takeTestRequest turns the test annotation into a job that no Execution asked for. A running job ends first. The annotation goes after
// the job was written, so that whoever waits until no operation is left and the job has ended never sees an old result.
func (r *reconciler) takeTestRequest(ctx context.Context, s *scope) error {
	if !isTestRequested(s.item) {
		return r.endGuard(ctx, s)
	}
	if !s.item.Job().IsIdle() {
		return nil
	}
	wasGuarded := isGuarded(s.item)
	if isVain, err := r.guardLoop(ctx, s); err != nil {
		return err
	} else if isVain {
		if wasGuarded {
			return nil
		}
		return stopAfter(r.updateStatus(ctx, s.item))
	}
	s.own = true
	s.item.Status.JobID = testJob + uuid.NewString()
	s.item.Status.JobIDGenerationTime = &metav1.Time{Time: time.Now()}
	return nil
}

// forgetTestRequest removes the test annotation before this process calls the deployer for the job it asked for, also when an earlier
// process began that job. One that comes later asks for another job. One that Flux keeps stays.
func (r *reconciler) forgetTestRequest(ctx context.Context, s *scope) error {
	if s.job.answers || !isTestRequested(s.item) || !isTestJob(s.job.id) || isGuarded(s.item) {
		s.job.answers = true
		return nil
	}
	err := r.patchMetadata(ctx, s.item, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
	s.job.answers = err == nil
	return err
}

// skipUninstall lets an item go whose deployed objects are to stay.
func (r *reconciler) skipUninstall(ctx context.Context, s *scope) error {
	if !s.deleting() || s.item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true" {
		return nil
	}
	r.jobs.forget(s.key())
	return stopAfter(r.release(ctx, s.item))
}

// pickUp begins a job that no deployer has begun yet, with one status write. A job that this deployer began before a restart is resumed; one
// that another deployer of the type has begun is left to it.
func (r *reconciler) pickUp(ctx context.Context, s *scope) error {
	if known := r.jobs.of(s.key()); known != nil && known.isCurrent(s.item) {
		s.job = known
		return nil
	}
	if isBegun(s.item) {
		return r.resume(s)
	}
	if r.isUnchanged(ctx, s) {
		return r.finishUnchanged(ctx, s)
	}
	noteLost(s.item)
	if err := r.noteSources(ctx, s.item); err != nil {
		return err
	}
	now := time.Now()
	r.jobs.void(s.item).takeBack(s.item)
	r.begin(s, now)
	made := r.plan(ctx, s)
	if err := r.updateStatus(ctx, s.item); err != nil {
		return err
	}
	s.job = r.jobs.claim(s.item, now, made)
	r.jobs.drop(s.key())
	return nil
}

// resume takes a job that has begun over from an earlier process of this deployer. A job of another deployer is taken over once it is
// late, to end it: its deployer would have done so if it were alive.
func (r *reconciler) resume(s *scope) error {
	if left := untilTakeover(s.item, &r.options, time.Now()); left != 0 {
		s.requeue = max(left, 0)
		return kit.ErrStop
	}
	s.job = r.jobs.claim(s.item, initTime(s.item), plan{})
	return nil
}

// takeoverGrace is the time that another deployer has to report the timeout of its job itself.
const takeoverGrace = 30 * time.Second

// untilTakeover returns how long to leave a job that has begun to the deployer that began it: 0 when it is the own one or when its time is up,
// -1 for ever, because the job has no limit.
func untilTakeover(item *v1alpha1.DeployItem, options *Options, now time.Time) time.Duration {
	if by := item.Status.Deployer; by == nil || by.Identity == options.Identity {
		return 0
	}
	timeout := item.ProgressTimeout()
	if longest := options.MaxTimeout; longest > 0 && (timeout <= 0 || timeout > longest) {
		timeout = longest
	}
	if timeout <= 0 {
		return -1
	}
	return max(initTime(item).Add(timeout+takeoverGrace).Sub(now), 0)
}

// isBegun reports whether the current job is under way according to the status.
func isBegun(item *v1alpha1.DeployItem) bool {
	phase := item.Status.Phase
	return phase != "" && !phase.IsFinal() && phase.IsDeletion() == isDeleting(item) && item.IsPickedUp()
}

func initTime(item *v1alpha1.DeployItem) time.Time {
	if times := item.Status.TransitionTimes; times != nil && times.InitTime != nil {
		return times.InitTime.Time
	}
	if began := item.Status.LastReconcileTime; began != nil {
		return began.Time
	}
	return time.Now()
}

// begin writes into the status that the job has begun.
func (r *reconciler) begin(s *scope, now time.Time) {
	status := &s.item.Status
	r.stamp(s.item, now)
	status.LastError, status.FirstError, status.LastErrors, status.DeployItemPhase = nil, nil, nil, ""
	phase, message := v1alpha1.PhaseProgressing, "Deploying"
	if s.deleting() {
		phase, message = v1alpha1.PhaseDeleting, "Uninstalling"
	}
	kit.SetPhase(s.item.Job(), phase, now)
	kit.Progress(s.item, meta.ProgressingReason, message)
}

// stamp records which spec is handled, by whom and since when. The time is never before that of the request, whatever the clocks of
// the two processes say, because the order of the two tells whether the job was picked up.
func (r *reconciler) stamp(item *v1alpha1.DeployItem, now time.Time) {
	kit.KeepValidConditions(item)
	status := &item.Status
	began := metav1.NewTime(now)
	if requested := status.JobIDGenerationTime; requested != nil && began.Before(requested) {
		began = *requested
	}
	status.ObservedGeneration = item.Generation
	status.LastReconcileTime = &began
	status.Deployer = &v1alpha1.DeployerInformation{Identity: r.options.Identity, Name: r.deployer.Name(), Version: r.options.Version}
	if status.TransitionTimes == nil {
		status.TransitionTimes = &v1alpha1.TransitionTimes{}
	}
	status.TransitionTimes.InitTime = &metav1.Time{Time: now}
	status.TransitionTimes.WaitTime, status.TransitionTimes.FinishedTime = nil, nil
}

// isUnchanged reports whether the item asks to skip jobs that would repeat the last success.
func (r *reconciler) isUnchanged(ctx context.Context, s *scope) bool {
	status := s.item.Status
	return s.item.Spec.UpdateOnChangeOnly && !s.deleting() && !s.own &&
		status.ObservedGeneration == s.item.Generation && status.Phase == v1alpha1.PhaseSucceeded && r.isWhereItWas(ctx, s) && r.usesWhatIsOffered(ctx, s.item)
}

func (r *reconciler) finishUnchanged(ctx context.Context, s *scope) error {
	now := time.Now()
	r.stamp(s.item, now)
	kit.Succeed(s.item, "Nothing changed since the last success", now)
	return stopAfter(r.updateStatus(ctx, s.item))
}
