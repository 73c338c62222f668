// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/force"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const succeededMessage = "the installation succeeded"

var errInterrupted = errors.New("operation was interrupted")

// recordJob makes a new job durable before anything is created for it: first its ID, then the finalizer and that no operation is left.
func (r *Reconciler) recordJob(ctx context.Context, s *scope) error {
	if err := r.noteOtherImports(ctx, s); err != nil {
		return err
	}
	if !s.someHaveJob() {
		s.inst.Status.ObservedGeneration = s.inst.Generation
		s.inst.Status.LastAttemptedRevision = jobs.RevisionOf(s.inst)
	}
	s.inst.Status.ExecutionReference = nil
	if s.execution != nil || len(s.plan.deployItems) > 0 {
		s.referToExecution()
	}
	if len(s.plan.subinstallations)+len(s.children) == 0 {
		s.inst.Status.SubInstCache = nil
		kit.SetPhase(s.inst.Job(), v1alpha1.PhaseProgressing, s.now)
	} else {
		kit.SetPhase(s.inst.Job(), v1alpha1.PhaseInit, s.now)
		if err := s.listChildren(r.Inputs.SignaturePolicy == inputs.Enforce); err != nil {
			return err
		}
	}
	if s.inst.Status.LastError == nil {
		if s.triggered == "" {
			kit.Progress(s.inst, meta.ProgressingReason, "job started")
		}
		s.inst.Status.LastError = kit.NewError(nil, jobs.Unfinished, s.now)
	}
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	return r.patchMetadata(ctx, s, s.answer(kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer}))
}

// writeStatus writes the status if it changed.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) (err error) {
	s.persisted, err = kit.WriteStatus(ctx, r.Client, s.inst, &s.inst.Status, s.persisted, &r.installations)
	if apierrors.IsConflict(err) {
		return r.writeStatusBeside(ctx, s, err)
	}
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
	if writeErr := r.record(ctx, s); writeErr != nil && !errors.Is(writeErr, kit.ErrStop) {
		return r.later(ctx, key, writeErr), nil
	}
	return ctrl.Result{RequeueAfter: s.Requeue}, nil
}

// record writes the status, with the job that follows, and then what metadata has to say about the operation that started the job.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	if err := r.recordStart(ctx, s); err != nil {
		return err
	}
	if err := r.queueNext(ctx, s); err != nil {
		return err
	}
	jobs.CloseOperation(s.inst)
	before := s.persisted
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	if s.persisted != before {
		r.announce(s)
	}
	return r.mendMetadata(ctx, s)
}

// absorb puts a failure into the status. It returns final when nothing is to be written.
func (r *Reconciler) absorb(s *scope, err error) (ctrl.Result, bool) {
	key := client.ObjectKeyFromObject(s.inst)
	if kit.IsTransient(err) || errors.As(err, new(inputs.UnreadSource)) || errors.Is(err, inputs.ErrLoadLimit) {
		return ctrl.Result{RequeueAfter: r.Backoff.After(key, err)}, true
	}
	failure := kit.AsOwnFailure(jobs.Operation, err)
	if failure.Kind == kit.Stalled && s.clusters != nil && s.clusters.Unanswered != nil {
		failure = &kit.Failure{Kind: kit.Retry, Operation: failure.Operation, Reason: "ClusterUnreachable", Err: failure.Err}
	}
	if failure.Kind == kit.Stalled && s.clusters != nil && s.clusters.Refused != nil {
		failure.Reason = jobs.ReasonBeyondImports
	}
	if failure.Kind == kit.Stalled && force.Requested(s.inst) {
		failure = &kit.Failure{Kind: kit.Retry, Operation: force.Operation, Reason: failure.Reason, Err: failure.Err} // nothing else begins it again
	}
	switch failure.Kind {
	case kit.Stalled:
		s.fail(failure)
	case kit.Waiting:
		kit.Progress(s.inst, failure.Reason, failure.Error())
	case kit.Retry:
		kit.TryAgain(s.inst, failure, s.now)
		s.Wake(r.Backoff.After(key, err))
	}
	return ctrl.Result{}, false
}

// queueNext requests the job that has to follow in the same write that ends one, so that nobody sees an idle Installation in between.
func (r *Reconciler) queueNext(ctx context.Context, s *scope) error {
	if s.outcome == nil {
		return nil
	}
	parent, err := r.related.Parent(ctx, s.inst)
	if err != nil {
		return err
	}
	if job, message := jobs.NextJob(s.inst, parent); job != "" {
		s.inst.Status.JobID = job
		kit.Progress(s.inst, meta.ProgressingReason, message)
	}
	return nil
}

// announce emits the one event of a job that ended.
func (r *Reconciler) announce(s *scope) {
	if s.outcome == nil {
		return
	}
	if failure := s.outcome.failure; failure != nil && failure.Reason == jobs.ReasonAnotherJob {
		r.event(s.inst, corev1.EventTypeNormal, failure.Reason, failure.Error())
		return
	}
	if s.outcome.failure != nil {
		r.event(s.inst, corev1.EventTypeWarning, s.outcome.failure.Reason, s.outcome.failure.Error())
		return
	}
	r.event(s.inst, corev1.EventTypeNormal, meta.ReconciliationSucceededReason, succeededMessage)
}

// event writes an event with what the job used.
func (r *Reconciler) event(inst *v1alpha1.Installation, kind, reason, message string) {
	r.Recorder.AnnotatedEventf(inst, jobs.EventMetadata(inst), kind, reason, "%s", message)
}

// later plans another attempt after a write that failed. The delay is ours alone: controller-runtime drops it from a result that comes with an
// error. What the next attempt is expected to be free of is no error in the log.
func (r *Reconciler) later(ctx context.Context, key client.ObjectKey, err error) ctrl.Result {
	if !kit.IsTransient(err) && !apierrors.IsNotFound(err) {
		ctrl.LoggerFrom(ctx).Error(err, "the end of a reconciliation cannot be written; it is tried again")
	}
	return ctrl.Result{RequeueAfter: r.Backoff.After(key, err)}
}

// outcome is how a job ended in this reconciliation.
type outcome struct {
	failure *kit.Failure
}

func (s *scope) fail(failure *kit.Failure) {
	failure.Heals = failure.Heals || jobs.Heals(s.inst, failure.Operation, failure.Reason)
	if kit.Fail(s.inst, failure, s.now) {
		s.recordRevision()
	}
	s.announceRetry(failure)
	s.outcome = &outcome{failure: failure}
}

// complete ends the job well.
func (r *Reconciler) complete(_ context.Context, s *scope) error {
	if len(s.children) == 0 {
		s.inst.Status.SubInstCache = nil
	} else if s.inst.Status.SubInstCache != nil {
		s.inst.Status.SubInstCache.OrphanedSubs = nil
	}
	kit.Succeed(s.inst, succeededMessage, s.now)
	s.recordRevision()
	s.forgetCounter(false)
	s.outcome = &outcome{}
	return nil
}
