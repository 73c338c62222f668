// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

const (
	operation        = "Reconcile"
	succeededMessage = "the installation succeeded"
)

var errInterrupted = errors.New("operation was interrupted")

// unfinished is what lastError shows while children are at work; its codes say that it is no error.
var unfinished = &kit.Failure{
	Operation: operation, Reason: meta.ProgressingReason, Err: errors.New("the deploy items are not finished"),
	Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorUnfinished, v1alpha1.ErrorForInfoOnly, v1alpha1.ErrorNoRetry},
}

// recordJob makes a new job durable before anything is created for it.
func (r *Reconciler) recordJob(ctx context.Context, s *scope) error {
	if s.applied() {
		return nil
	}
	if err := r.noteOtherImports(ctx, s); err != nil {
		return err
	}
	if s.execution != nil || len(s.plan.deployItems) > 0 {
		s.referToExecution()
	}
	if len(s.plan.subinstallations)+len(s.children) == 0 {
		s.inst.Status.SubInstCache = nil
		kit.SetPhase(s.inst.Job(), v1alpha1.PhaseProgressing, s.now)
	}
	if s.triggered == "" && s.inst.Status.LastError == nil {
		kit.Progress(s.inst, meta.ProgressingReason, "job started")
	}
	s.inst.Status.LastError = kit.NewError(s.inst.Status.LastError, unfinished, s.now)
	return r.writeStatus(ctx, s)
}

// writeStatus writes the status if it changed.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) (err error) {
	s.persisted, err = kit.WriteStatus(ctx, r.Client, s.inst, &s.inst.Status, s.persisted, &r.installations)
	return err
}

// settle is the only place that turns the end of a reconciliation into status, events and requeue.
func (r *Reconciler) settle(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(s.inst)
	if err == nil {
		r.Backoff.Forget(key)
	} else if retry, final := r.absorb(s, err); final {
		return retry, nil
	}
	if s.outcome != nil {
		r.forgetJob(key)
	}
	s.takeOverChange()
	s.queueNext()
	if writeErr := r.writeStatus(ctx, s); writeErr != nil {
		return ctrl.Result{RequeueAfter: r.Backoff.After(key, writeErr)}, ignoreTransient(writeErr)
	}
	r.announce(s)
	return ctrl.Result{RequeueAfter: s.requeue}, nil
}

// absorb puts a failure into the status. It returns final when nothing is to be written.
func (r *Reconciler) absorb(s *scope, err error) (ctrl.Result, bool) {
	key := client.ObjectKeyFromObject(s.inst)
	if kit.IsTransient(err) {
		return ctrl.Result{RequeueAfter: r.Backoff.After(key, err)}, true
	}
	failure := kit.AsFailure(operation, err)
	if failure.Kind == kit.Stalled && s.clusters != nil && s.clusters.unanswered != nil {
		failure = &kit.Failure{Kind: kit.Retry, Operation: failure.Operation, Reason: "ClusterUnreachable", Err: failure.Err}
	}
	switch failure.Kind {
	case kit.Stalled:
		s.fail(failure)
	case kit.Waiting:
		kit.Progress(s.inst, failure.Reason, failure.Error())
	case kit.Retry:
		s.inst.Status.LastError = kit.NewError(s.inst.Status.LastError, failure, s.now)
		kit.Progress(s.inst, meta.ProgressingWithRetryReason, failure.Error())
		s.wake(r.Backoff.After(key, err))
	}
	return ctrl.Result{}, false
}

// queueNext requests another job in the same write that ends one whose spec, or what else its children are made from, changed meanwhile.
func (s *scope) queueNext() {
	inst := s.inst
	newer, mixed := inst.Generation != inst.Status.ObservedGeneration, conditions.IsTrue(inst, ChangedDuringJobCondition)
	if s.outcome == nil || !inst.DeletionTimestamp.IsZero() || inst.Spec.Suspend || !inst.IsRoot() || !newer && !mixed {
		return
	}
	inst.Status.JobID = uuid.NewString()
	message := "the spec changed while a job ran; another job follows"
	if !newer {
		message = changedMessage
	}
	kit.Progress(inst, meta.ProgressingReason, message)
}

// announce emits the one event of a job that ended.
func (r *Reconciler) announce(s *scope) {
	if s.outcome == nil {
		return
	}
	if s.outcome.failure != nil {
		r.event(s.inst, corev1.EventTypeWarning, s.outcome.failure.Reason, s.outcome.failure.Error())
		return
	}
	r.event(s.inst, corev1.EventTypeNormal, meta.ReconciliationSucceededReason, succeededMessage)
}

// event writes an event with the revision of the source that the job used.
func (r *Reconciler) event(inst *v1alpha1.Installation, kind, reason, message string) {
	annotations := map[string]string{}
	if len(inst.Status.Sources) > 0 {
		annotations[v1alpha1.GroupName+"/"+revisionKey] = inst.Status.Sources[0].Revision
	}
	r.Recorder.AnnotatedEventf(inst, annotations, kind, reason, "%s", message)
}

// revisionKey is the metadata key that notification-controller shows and forwards to commit statuses.
const revisionKey = "revision"

// ignoreTransient drops errors that the next attempt is expected to be free of, so that they are not logged as failures.
func ignoreTransient(err error) error {
	if kit.IsTransient(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// outcome is how a job ended in this reconciliation.
type outcome struct {
	failure *kit.Failure
}

func (s *scope) fail(failure *kit.Failure) {
	kit.Fail(s.inst, failure, s.now)
	s.announceRetry(failure)
	s.outcome = &outcome{failure: failure}
}

// complete ends the job well.
func (r *Reconciler) complete(_ context.Context, s *scope) error {
	if len(s.children) == 0 {
		s.inst.Status.SubInstCache = nil
	}
	kit.Succeed(s.inst, succeededMessage, s.now)
	s.forgetCounter(false)
	s.outcome = &outcome{}
	return nil
}
