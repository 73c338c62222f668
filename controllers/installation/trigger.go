// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// decideJob lets a running job go on, starts one when something asks for it, and stops otherwise.
func (r *Reconciler) decideJob(ctx context.Context, s *reconciliation) error {
	if !s.Inst.Status.IsIdle() {
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
	s.start(jobs.NewJobID(s.Inst), reason)
	r.Inputs.NoteSources(ctx, s.Inst)
	return nil
}

// takeUp begins a job that was requested from outside or queued behind an earlier one: the phase still belongs to the
// job before.
func (r *Reconciler) takeUp(ctx context.Context, s *reconciliation) error {
	if phase := s.Inst.Status.Phase; phase != "" && !phase.IsFinal() {
		return nil
	}
	if err := r.readOperation(ctx, s); err != nil {
		return err
	}
	s.start(s.Inst.Status.JobID, "job requested")
	r.Inputs.NoteSources(ctx, s.Inst)
	return nil
}

// trigger returns why a job has to start now, or nothing. When it returns nothing although the spec changed or a child is lost, the status
// says so.
func (r *Reconciler) trigger(ctx context.Context, s *reconciliation) (string, error) {
	var unknown error
	if err := r.follow(ctx, s); errors.As(err, new(inputs.UnreadSource)) {
		unknown = err
	} else if err != nil {
		return "", err
	}
	for _, cause := range jobs.Causes(s.Inst) {
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
	if err := r.showMissingImport(ctx, s); err != nil {
		return "", err
	}
	if shown, err := r.showLoss(ctx, s); err != nil || shown {
		return "", err
	}
	s.showPending()
	return "", nil
}

// asks returns why one thing asks for a job, or nothing.
func (r *Reconciler) asks(ctx context.Context, s *reconciliation, cause jobs.Cause) (string, error) {
	inst := s.Inst
	switch cause {
	case jobs.ParentsJob:
		return r.nestedTrigger(ctx, inst)
	case jobs.ImportedContent:
		if reason, err := r.order.ProducedChange(ctx, inst); reason != "" || err != nil {
			return reason, err
		}
		return r.Inputs.ChangedImports(ctx, inst)
	case jobs.Request:
		return jobs.ReasonIf(s.asked || jobs.Requested(inst), "reconciliation was requested"), nil
	case jobs.ClearWay:
		return jobs.ReasonIf(s.wayIsClear(), "the Execution that was in the way is gone"), nil
	case jobs.FreeExports:
		free, err := r.publisher.AreFree(ctx, inst)
		return jobs.ReasonIf(free, "the exports that another installation held are free"), err
	case jobs.LostExports:
		return r.exportsAgain(ctx, s)
	case jobs.Clock:
		return jobs.ReasonIf(s.dueByClock(), s.clockReason()), nil
	case jobs.NewSpec:
		return fmt.Sprintf("generation %d is new", inst.Generation), nil
	case jobs.HealedImports:
		return r.healedImports(ctx, inst)
	case jobs.OtherContext:
		return r.changedContext(ctx, inst)
	}
	if reason, err := r.Inputs.ChangedSource(ctx, inst); reason != "" || err != nil {
		return reason, err
	}
	return r.changedFolder(ctx, inst)
}

// changedFolder tells which sub-installation at any depth takes its blueprint from a folder that has other content now. Only their root starts a
// job for it.
func (r *Reconciler) changedFolder(ctx context.Context, inst *v1alpha1.Installation) (reason string, err error) {
	if inst.Spec.Blueprint.SourceReference == nil {
		return "", nil
	}
	err = r.children.Below(ctx, inst, func(child *v1alpha1.Installation) (further bool, err error) {
		if reason == "" && child.Spec.Blueprint.SourceReference != nil {
			reason, err = r.Inputs.ChangedFolder(ctx, inst, child)
		}
		return reason == "", err
	})
	return reason, err
}

// showPending shows that a changed spec is not applied, and takes that back when it is none any more.
func (s *reconciliation) showPending() {
	switch {
	case !s.Inst.IsRoot():
	case s.Inst.Spec.Suspend && s.Inst.Status.JobID == "":
		kit.Pending(s.Inst, kit.ReasonSuspended, "spec.suspend is set; nothing starts until it is removed")
	case s.Inst.Spec.Suspend:
		// What is suspended stays what it is, and whoever waits for the spec to be observed, as a Flux Kustomization does, waits no longer. The end
		// of the suspension is another spec, so no change is lost.
		if s.Inst.Status.ObservedGeneration == s.Inst.Generation {
			s.pending(false, "", "")
			return
		}
		s.Inst.Status.ObservedGeneration = s.Inst.Generation
		for i := range s.Inst.Status.Conditions {
			s.Inst.Status.Conditions[i].ObservedGeneration = s.Inst.Generation
		}
		s.restoreReady()
	case !jobs.FollowsChanges(s.Inst):
		message := "the spec is not applied yet: annotate " + v1alpha1.OperationAnnotation + "=reconcile to apply it once, or " +
			v1alpha1.ReconcileIfChangedAnnotation + "=true to apply every change"
		if conditions.IsFalse(s.Inst, jobs.FollowsChangesCondition) {
			message = conditions.GetMessage(s.Inst, jobs.FollowsChangesCondition)
		}
		s.pending(s.Inst.Generation != s.Inst.Status.ObservedGeneration, kit.ReasonNotTriggered, message)
	}
}

// wayIsClear reports whether the last job failed because of somebody else's Execution and now there is none.
func (s *reconciliation) wayIsClear() bool {
	last := s.Inst.Status.LastError
	return s.Inst.Status.Phase == v1alpha1.PhaseFailed && last != nil && last.Reason == children.ReasonExecutionExists &&
		s.family.Foreign == nil && s.family.Execution == nil
}

// nestedTrigger starts the job that the parent wrote the spec for.
func (r *Reconciler) nestedTrigger(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	parent, err := r.related.Parent(ctx, inst)
	return jobs.ReasonIf(err == nil && jobs.JobFromParent(inst, parent) != "", "job of the parent"), err
}

// pending shows that a changed spec is not applied.
func (s *reconciliation) pending(changed bool, reason, message string) {
	if changed {
		kit.Pending(s.Inst, reason, message)
		return
	}
	if ready := conditions.Get(s.Inst, meta.ReadyCondition); ready != nil &&
		(ready.Reason == kit.ReasonNotTriggered || ready.Reason == kit.ReasonSuspended) {
		s.restoreReady()
	}
}

// restoreReady shows the result of the last job again after a change was taken back.
func (s *reconciliation) restoreReady() {
	switch last := s.Inst.Status.LastError; {
	case s.Inst.Status.Phase == v1alpha1.PhaseSucceeded:
		s.showSuccess()
	case last != nil:
		kit.ShowFailure(s.Inst, jobs.FailureOf(s.Inst))
	}
}

// start begins a new job in memory; recordJob or settle writes it.
func (s *reconciliation) start(id, reason string) {
	s.triggered = reason
	s.countAutomatic()
	phase := v1alpha1.PhaseInit
	if !s.Inst.DeletionTimestamp.IsZero() {
		phase = v1alpha1.PhaseDeleting
	}
	kit.Begin(s.Inst, id, phase, s.Now)
	s.begun.Store(client.ObjectKeyFromObject(s.Inst), begunJob{id, s.Now})
	s.observe()
	if s.asked {
		s.Inst.Status.OperationJobID = id
	}
	conditions.Delete(s.Inst, meta.StalledCondition)
	conditions.Delete(s.Inst, jobs.ChangedDuringJobCondition)
	conditions.Delete(s.Inst, jobs.ImportMissingCondition)
	if conditions.IsUnknown(s.Inst, jobs.FollowsChangesCondition) {
		conditions.Delete(s.Inst, jobs.FollowsChangesCondition)
	}
	kit.Progress(s.Inst, meta.ProgressingReason, "job started: "+reason)
	s.Started = s.Inst.Status.DeepCopy()
}

// observe records what the running job works on.
func (s *reconciliation) observe() {
	s.Inst.Status.ObservedGeneration = s.Inst.Generation
	if token, ok := meta.ReconcileAnnotationValue(s.Inst.Annotations); ok {
		s.Inst.Status.LastHandledReconcileAt = token
	}
}

// changedContext tells what the Context brought that may end the failure of the last job. Sub-installations at any depth fail by themselves, but only
// their root starts another job.
func (r *Reconciler) changedContext(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	failed := []*v1alpha1.Installation{inst}
	if jobs.FailedBelow(inst) {
		var err error
		if failed, err = r.children.CausesBelow(ctx, inst); err != nil {
			return "", err
		}
	}
	for _, one := range failed {
		if reason, err := r.Inputs.ChangedContextOf(ctx, one); reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// healedImports says which change of the imports of a failed root may end its failure, or what failed below it.
func (r *Reconciler) healedImports(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	overValue := jobs.FailedOverValue(inst)
	if jobs.FailedBelow(inst) {
		below, err := r.children.CausesBelow(ctx, inst)
		if err != nil {
			return "", err
		}
		overValue = slices.ContainsFunc(below, jobs.FailedOverValue)
	}
	return r.Inputs.HealedImports(ctx, inst, overValue)
}

// showMissingImport shows that something which the last job of a root imported was deleted since: the next job will fail. What is deployed stays Ready.
func (r *Reconciler) showMissingImport(ctx context.Context, s *reconciliation) error {
	known, missing := conditions.GetMessage(s.Inst, jobs.ImportMissingCondition), ""
	if s.Inst.IsRoot() && s.Inst.Status.Phase == v1alpha1.PhaseSucceeded {
		var err error
		if missing, err = inputs.MissingImport(ctx, &r.Inputs, s.Inst, known); err != nil {
			return err
		}
	}
	if missing == "" {
		conditions.Delete(s.Inst, jobs.ImportMissingCondition)
		return nil
	}
	if known == "" {
		r.Recorder.Event(s.Inst, corev1.EventTypeWarning, jobs.ReasonImportNotFound, kit.Message(missing))
	}
	conditions.MarkTrue(s.Inst, jobs.ImportMissingCondition, jobs.ReasonImportNotFound, "%s", missing)
	return nil
}
