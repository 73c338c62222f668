// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

const operation = "Reconcile"

// decideJob lets a running job go on and takes the job that the Installation wrote the spec for. An Execution without
// Installation gets its job from whoever writes status.jobID.
func (r *Reconciler) decideJob(ctx context.Context, s *scope) error {
	status := &s.execution.Status
	job := s.execution.Annotations[v1alpha1.JobAnnotation]
	if status.IsIdle() && (job == "" || job == status.JobID) {
		return r.dropOperation(ctx, s)
	}
	if status.IsIdle() {
		return r.take(ctx, s, job)
	}
	if status.Phase == "" || status.Phase.IsFinal() {
		return r.take(ctx, s, status.JobID)
	}
	return nil
}

// take begins a job. An Execution that no Installation made gets its finalizer now, before it has DeployItems to clean up.
func (r *Reconciler) take(ctx context.Context, s *scope, job string) error {
	if err := r.patchMetadata(ctx, s, kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	s.begin(job)
	return nil
}

// dropOperation removes an operation that came when nothing was running, and stops.
func (r *Reconciler) dropOperation(ctx context.Context, s *scope) error {
	if err := r.patchMetadata(ctx, s, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}); err != nil {
		return err
	}
	return kit.ErrStop
}

// begin starts a job in memory; recordJob or settle writes it.
func (s *scope) begin(job string) {
	phase := v1alpha1.PhaseProgressing
	if !s.execution.DeletionTimestamp.IsZero() {
		phase = v1alpha1.PhaseDeleting
	}
	kit.Begin(s.execution, job, phase, s.now)
	s.execution.Status.ObservedGeneration = s.execution.Generation
	kit.Progress(s.execution, meta.ProgressingReason, "deploy items are processed")
}

// recordJob makes a new job durable before anything is created for it.
func (r *Reconciler) recordJob(ctx context.Context, s *scope) error {
	return r.writeStatus(ctx, s)
}

// writeStatus writes the status if it changed.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) (err error) {
	s.persisted, err = kit.WriteStatus(ctx, r.Client, s.execution, &s.execution.Status, s.persisted, &r.executions)
	return err
}

func (r *Reconciler) patchMetadata(ctx context.Context, s *scope, change kit.MetadataChange) error {
	return kit.PatchMetadataOnly(ctx, r.Client, s.execution, &s.execution.Status, change, &r.executions)
}

// settle is the only place that turns the end of a reconciliation into status, events and requeue.
func (r *Reconciler) settle(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(s.execution)
	switch {
	case err == nil:
		r.Backoff.Forget(key)
	case kit.IsTransient(err):
		return ctrl.Result{RequeueAfter: r.Backoff.After(key, err)}, nil
	default:
		r.absorb(s, kit.AsFailure(operation, err))
	}
	if err := r.writeStatus(ctx, s); err != nil {
		delay := r.Backoff.After(key, err)
		if kit.IsTransient(err) || apierrors.IsNotFound(err) {
			err = nil
		}
		return ctrl.Result{RequeueAfter: delay}, err
	}
	if s.failure != nil {
		r.Recorder.Eventf(s.execution, corev1.EventTypeWarning, s.failure.Reason, "%s", s.failure.Error())
	}
	return ctrl.Result{RequeueAfter: s.requeue}, nil
}

func (r *Reconciler) absorb(s *scope, failure *kit.Failure) {
	if failure.Kind == kit.Stalled {
		s.fail(failure)
		return
	}
	s.execution.Status.LastError = kit.NewError(s.execution.Status.LastError, failure, s.now)
	kit.Progress(s.execution, meta.ProgressingWithRetryReason, failure.Error())
	s.requeue = r.Backoff.After(client.ObjectKeyFromObject(s.execution), failure)
}

func (s *scope) fail(failure *kit.Failure) {
	kit.Fail(s.execution, failure, s.now)
	s.failure = failure
}
