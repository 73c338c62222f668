// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

const loopGuardMessage = "the annotation " + v1alpha1.OperationAnnotation + " is kept in Git, so it would start a job at every sync; it only starts " +
	"one when the spec changed. Remove it in Git; to start a job by hand set it without Flux"

// by is what jobs say about who began them.
func (r *reconciler) by() v1alpha1.DeployerInformation {
	return v1alpha1.DeployerInformation{Identity: r.options.Identity, Name: r.deployer.Name(), Version: r.options.Version, Type: r.deployer.Type()}
}

// takeTestRequest turns the test annotation into a job that no Execution asked for. A running job ends first. The annotation goes after
// the job was written, so that whoever waits until no operation is left and the job has ended never sees an old result. Where it is gone, so is the
// condition that Flux keeps it.
func (r *reconciler) takeTestRequest(ctx context.Context, s *scope) error {
	wasGuarded := isGuarded(s.item)
	switch {
	case !s.item.Job().IsIdle():
		return nil
	case !isTestRequested(s.item) && wasGuarded:
		conditions.Delete(s.item, protocol.OperationInGitCondition)
		return stopAfter(r.writeStatus(ctx, s.item))
	case !isTestRequested(s.item):
		return nil
	}
	isVain, err := r.guardLoop(ctx, s)
	switch {
	case err != nil:
		return err
	case !isVain:
		s.begin(testJob + uuid.NewString())
	case !wasGuarded:
		return stopAfter(r.writeStatus(ctx, s.item))
	}
	return nil
}

// forgetTestRequest removes the test annotation before this process calls the deployer for the job it asked for, also when an earlier
// process began that job. One that comes later asks for another job. One that Flux keeps stays.
func (r *reconciler) forgetTestRequest(ctx context.Context, s *scope) error {
	var err error
	if !s.job.Answers {
		err = r.dropTestRequest(ctx, s.item)
	}
	s.job.Answers = err == nil
	return err
}

// dropTestRequest removes the test annotation of an item whose job it asked for.
func (r *reconciler) dropTestRequest(ctx context.Context, item *v1alpha1.DeployItem) error {
	if !isTestRequested(item) || !strings.HasPrefix(item.Status.JobID, testJob) || isGuarded(item) {
		return nil
	}
	return r.writeMetadata(ctx, item, protocol.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
}

// skipUninstall lets an item go whose deployed objects are to stay.
func (r *reconciler) skipUninstall(ctx context.Context, s *scope) error {
	if !s.deleting() || s.item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true" {
		return nil
	}
	r.jobs.Forget(s.key())
	return stopAfter(r.release(ctx, s.item))
}

// pickUp begins a job that no deployer has begun yet, with one status write. A job that this deployer began before a restart is resumed; one
// that another deployer of the type has begun is left to it.
func (r *reconciler) pickUp(ctx context.Context, s *scope) error {
	if known := r.jobs.Of(s.key()); known != nil && known.IsCurrent(s.item) {
		s.job = known
		return nil
	}
	if isBegun(s.item) {
		return r.resume(s)
	}
	now := time.Now()
	if r.isUnchanged(ctx, s) {
		stamp(s.item, r.by(), now)
		protocol.Succeed(s.item, "Nothing changed since the last success", now)
		return stopAfter(r.writeStatus(ctx, s.item))
	}
	noteLost(s.item)
	if err := r.options.Sources.note(ctx, s.item); err != nil {
		return err
	}
	r.jobs.Void(s.item).TakeBack(s.item)
	begin(s.item, r.by(), now)
	r.noteKeys(s)
	var made plan
	if r.planner != nil && !s.deleting() {
		made = planOf(s.item, r.planner.Plan(s.item, r.destination(ctx, s)))
	}
	if err := r.writeStatus(ctx, s.item); err != nil {
		return err
	}
	s.job = r.jobs.Claim(s.item, now, made)
	r.jobs.Drop(s.key())
	return nil
}

// resume takes a job that has begun over from an earlier process of this deployer. A job of another deployer is taken over once it is
// late, to end it: its deployer would have done so if it were alive.
func (r *reconciler) resume(s *scope) error {
	if left := untilTakeover(s.item, r.options.Identity, r.options.MaxTimeout, time.Now()); left != 0 {
		s.requeue = max(left, 0)
		return protocol.ErrStop
	}
	s.job = r.jobs.Claim(s.item, beganAt(s.item, time.Now()), plan{})
	return nil
}

// isUnchanged reports whether the item asks to skip jobs that would repeat the last success.
func (r *reconciler) isUnchanged(ctx context.Context, s *scope) bool {
	status := s.item.Status
	return s.item.Spec.UpdateOnChangeOnly && !s.deleting() && !s.own &&
		status.ObservedGeneration == s.item.Generation && status.Phase == v1alpha1.PhaseSucceeded && r.isWhereItWas(ctx, s) && r.options.Sources.isUsed(ctx, s.item)
}

// guardLoop reports whether the test annotation of an idle item asks for nothing: Flux, which would put it back at every sync, keeps it, and
// the present spec had its job. A deletion is not synced, and always has its job.
func (r *reconciler) guardLoop(ctx context.Context, s *scope) (bool, error) {
	isKept, err := false, error(nil)
	if !s.deleting() {
		isKept, err = protocol.IsAppliedByFlux(ctx, r.live, s.item, "DeployItem", v1alpha1.OperationAnnotation)
	}
	if err != nil {
		return false, err
	}
	if !isKept {
		conditions.Delete(s.item, protocol.OperationInGitCondition)
		return false, nil
	}
	if !isGuarded(s.item) {
		r.options.Recorder.Event(s.item, corev1.EventTypeWarning, protocol.ReasonLoopGuard, loopGuardMessage)
		conditions.MarkTrue(s.item, protocol.OperationInGitCondition, protocol.ReasonLoopGuard, "%s", loopGuardMessage)
	}
	return s.item.Status.ObservedGeneration == s.item.Generation, nil
}

// noteKeys sets the condition about unknown keys for the job that begins, and posts an event when it says something new.
func (r *reconciler) noteKeys(s *scope) {
	_, others := document.Near(r.unknownKeys(s.item))
	if protocol.NoteUnknownKeys(s.item, "spec.config: ", others) {
		r.options.Recorder.Event(s.item, corev1.EventTypeWarning, protocol.UnknownKey, conditions.GetMessage(s.item, v1alpha1.UnknownKeysCondition))
	}
}

// refuseOtherType fails the job of an item whose type somebody has changed: what earlier jobs have deployed is recorded in the status, in a form that only
// deployers of the former type know. Nothing of that record changes, so that one of them goes on with it once the type is set back.
func (r *reconciler) refuseOtherType(ctx context.Context, s *scope) error {
	former := protocol.FormerType(s.item)
	if former == "" {
		return nil
	}
	r.jobs.Forget(s.key())
	failure := &protocol.Failure{Kind: protocol.Stalled, Operation: operationReconcile, Reason: "TypeChanged", Err: protocol.TypeChanged(s.item, former)}
	now := time.Now()
	status := &s.item.Status
	status.ObservedGeneration, status.FirstError, status.LastErrors = s.item.Generation, nil, nil
	recordFailure(s.item, failure, now)
	protocol.Fail(s.item, failure, now)
	if err := r.writeStatus(ctx, s.item); err != nil {
		return err
	}
	r.warn(s, failure.Reason, failure.Error())
	return stopAfter(r.dropTestRequest(ctx, s.item))
}

const finalizerRestoredMessage = "the finalizer " + v1alpha1.Finalizer + " was removed and is back: without it a deletion would leave on the target what the item " +
	"has deployed. To leave it there annotate " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true"

// protect sets the finalizer that a deletion waits for, before the deployer is called. The status of the job was written before: an item that has got its
// finalizer so has had a job.
func (r *reconciler) protect(ctx context.Context, s *scope) error {
	if s.deleting() || controllerutil.ContainsFinalizer(s.item, v1alpha1.Finalizer) {
		return nil
	}
	err := r.writeMetadata(ctx, s.item, protocol.MetadataChange{AddFinalizer: v1alpha1.Finalizer})
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || ctx.Err() != nil {
		return err
	}
	s.err = fmt.Errorf("cannot set the finalizer %s: %w", v1alpha1.Finalizer, err)
	return stopAfter(r.report(ctx, s))
}

// keepFinalizer puts back the finalizer that somebody has removed from an idle item, more and more rarely while that repeats or is refused.
func (r *reconciler) keepFinalizer(ctx context.Context, s *scope) error {
	if !lacksFinalizer(s.item, r.deployer.Name()) {
		return nil
	}
	key, now := s.key().String(), time.Now()
	if r.restored.IsInBackOffSinceUpdate(key, now) {
		s.hookRequeue = sooner(s.hookRequeue, r.restored.Get(key))
		return nil
	}
	err := r.writeMetadata(ctx, s.item, protocol.MetadataChange{AddFinalizer: v1alpha1.Finalizer})
	if err != nil && (protocol.IsTransient(err) || apierrors.IsNotFound(err)) {
		return err
	}
	r.restored.Next(key, now)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "put back the finalizer")
		s.hookRequeue = sooner(s.hookRequeue, r.restored.Get(key))
		return nil // whoever refuses it keeps nothing else from the item
	}
	r.options.Recorder.Event(s.item, corev1.EventTypeWarning, queue.ReasonFinalizerRestored, finalizerRestoredMessage)
	return nil
}
