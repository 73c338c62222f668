// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// decideJob lets a running job go on, starts one when something asks for it, and stops otherwise.
func (r *Reconciler) decideJob(ctx context.Context, s *scope) error {
	if !s.inst.Status.IsIdle() {
		return r.takeUp(ctx, s)
	}
	if err := r.readOperation(ctx, s); err != nil {
		return err
	}
	reason, err := r.trigger(ctx, s)
	if err != nil {
		return err
	}
	if reason == "" {
		return kit.ErrStop
	}
	s.start(jobs.NewJobID(s.inst), reason)
	return nil
}

// takeUp begins a job that was requested from outside or queued behind an earlier one: the phase still belongs to the
// job before.
func (r *Reconciler) takeUp(ctx context.Context, s *scope) error {
	if phase := s.inst.Status.Phase; phase != "" && !phase.IsFinal() {
		return nil
	}
	if err := r.readOperation(ctx, s); err != nil {
		return err
	}
	s.start(s.inst.Status.JobID, "job requested")
	return nil
}

// trigger returns why a job has to start now, or nothing. When it returns nothing although the spec changed or a child is lost, the status
// says so.
func (r *Reconciler) trigger(ctx context.Context, s *scope) (string, error) {
	var unknown error
	for _, cause := range jobs.Causes(s.inst) {
		reason, err := r.asks(ctx, s, cause)
		if errors.As(err, new(inputs.UnreadSource)) {
			unknown = err // something else may ask for a job, which says what cannot be read
			continue
		}
		if reason != "" || err != nil {
			return reason, err
		}
	}
	if unknown != nil {
		return "", unknown
	}
	if shown, err := r.showLoss(ctx, s); err != nil || shown {
		return "", err
	}
	s.showPending()
	return "", nil
}

// asks returns why one thing asks for a job, or nothing.
func (r *Reconciler) asks(ctx context.Context, s *scope, cause jobs.Cause) (string, error) {
	inst := s.inst
	switch cause {
	case jobs.ParentsJob:
		return r.nestedTrigger(ctx, inst)
	case jobs.ImportedContent:
		return r.importedChange(ctx, inst)
	case jobs.Request:
		return jobs.ReasonIf(s.asked || jobs.Requested(inst), "reconciliation was requested"), nil
	case jobs.ClearWay:
		return jobs.ReasonIf(s.wayIsClear(), "the Execution that was in the way is gone"), nil
	case jobs.FreeExports:
		free, err := r.exportsAreFree(ctx, inst)
		return jobs.ReasonIf(free, "the exports that another installation held are free"), err
	case jobs.LostExports:
		return r.exportsAgain(ctx, s)
	case jobs.Clock:
		return jobs.ReasonIf(s.dueByClock(), s.clockReason()), nil
	case jobs.NewSpec:
		return fmt.Sprintf("generation %d is new", inst.Generation), nil
	case jobs.ArrivedImports:
		arrived, err := r.Inputs.ImportsArrived(ctx, inst)
		return jobs.ReasonIf(arrived, "the imports that were missing are there"), err
	case jobs.OtherContext:
		return r.changedContext(ctx, inst)
	}
	return r.Inputs.ChangedSource(ctx, inst)
}

// showPending shows that a changed spec is not applied, and takes that back when it is none any more.
func (s *scope) showPending() {
	switch {
	case !s.inst.IsRoot():
	case s.inst.Spec.Suspend && s.inst.Status.JobID == "":
		kit.Pending(s.inst, kit.ReasonSuspended, "spec.suspend is set; nothing starts until it is removed")
	case s.inst.Spec.Suspend:
		// What is suspended stays what it is, and whoever waits for the spec to be observed, as a Flux Kustomization does, waits no longer. The end
		// of the suspension is another spec, so no change is lost.
		s.inst.Status.ObservedGeneration = s.inst.Generation
		s.restoreReady()
	case !jobs.FollowsChanges(s.inst):
		s.pending(s.inst.Generation != s.inst.Status.ObservedGeneration, kit.ReasonNotTriggered, "the spec is not applied yet: annotate "+
			v1alpha1.OperationAnnotation+"=reconcile to apply it once, or "+
			v1alpha1.ReconcileIfChangedAnnotation+"=true to apply every change")
	}
}

// importedChange tells what an import brought that asks for a job: other exports of siblings, and where an annotation asks for it any other
// content.
func (r *Reconciler) importedChange(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if reason, err := r.producedChange(ctx, inst); reason != "" || err != nil {
		return reason, err
	}
	return r.Inputs.ChangedImports(ctx, inst)
}

// wayIsClear reports whether the last job failed because of somebody else's Execution and now there is none.
func (s *scope) wayIsClear() bool {
	last := s.inst.Status.LastError
	return s.inst.Status.Phase == v1alpha1.PhaseFailed && last != nil && last.Reason == reasonExecutionExists &&
		!s.foreign && s.execution == nil
}

// nestedTrigger starts the job that the parent wrote the spec for.
func (r *Reconciler) nestedTrigger(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	parent, err := r.related.Parent(ctx, inst)
	return jobs.ReasonIf(err == nil && jobs.JobFromParent(inst, parent) != "", "job of the parent"), err
}

// pending shows that a changed spec is not applied.
func (s *scope) pending(changed bool, reason, message string) {
	if changed {
		kit.Pending(s.inst, reason, message)
		return
	}
	if ready := conditions.Get(s.inst, meta.ReadyCondition); ready != nil &&
		(ready.Reason == kit.ReasonNotTriggered || ready.Reason == kit.ReasonSuspended) {
		s.restoreReady()
	}
}

// restoreReady shows the result of the last job again after a change was taken back.
func (s *scope) restoreReady() {
	switch last := s.inst.Status.LastError; {
	case s.inst.Status.Phase == v1alpha1.PhaseSucceeded:
		conditions.MarkTrue(s.inst, meta.ReadyCondition, meta.ReconciliationSucceededReason, "%s", succeededMessage)
	case last != nil:
		kit.ShowFailure(s.inst, jobs.FailureOf(s.inst))
	}
}

// start begins a new job in memory; recordJob or settle writes it.
func (s *scope) start(id, reason string) {
	s.triggered = reason
	s.countAutomatic()
	phase := v1alpha1.PhaseInit
	if !s.inst.DeletionTimestamp.IsZero() {
		phase = v1alpha1.PhaseDeleting
	}
	kit.Begin(s.inst, id, phase, s.now)
	s.observe()
	if s.asked {
		s.inst.Status.OperationJobID = id
	}
	conditions.Delete(s.inst, meta.StalledCondition)
	conditions.Delete(s.inst, jobs.ChangedDuringJobCondition)
	kit.Progress(s.inst, meta.ProgressingReason, "job started: "+reason)
	s.started = s.inst.Status.DeepCopy()
}

// observe records what the running job works on.
func (s *scope) observe() {
	s.inst.Status.ObservedGeneration = s.inst.Generation
	if token, ok := meta.ReconcileAnnotationValue(s.inst.Annotations); ok {
		s.inst.Status.LastHandledReconcileAt = token
	}
}
