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
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
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
		return protocol.ErrStop
	}
	s.start(jobs.NewJobID(s.inst), reason)
	r.Inputs.NoteSources(ctx, s.inst)
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
	r.Inputs.NoteSources(ctx, s.inst)
	return nil
}

// trigger returns why a job has to start now, or nothing. When it returns nothing although the spec changed or a child is lost, the status
// says so.
func (r *Reconciler) trigger(ctx context.Context, s *scope) (string, error) {
	var unknown error
	if err := r.follow(ctx, s); errors.As(err, new(inputs.UnreadSource)) {
		unknown = err
	} else if err != nil {
		return "", err
	}
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
	if err := r.showMissingImport(ctx, s); err != nil {
		return "", err
	}
	if err := r.hideCopies(ctx, s.inst); err != nil {
		return "", inputs.UnreadSource{Cause: err} // the last job stands
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
		if reason, err := r.producedChange(ctx, inst); reason != "" || err != nil {
			return reason, err
		}
		return r.Inputs.ChangedImports(ctx, inst)
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
	case jobs.HealedImports:
		return r.healedImports(ctx, inst)
	case jobs.OtherContext:
		return r.changedContext(ctx, inst)
	}
	return r.changedSource(ctx, inst)
}

// changedSource tells which source of a root, or of a sub-installation at any depth, has other content than the last job used.
func (r *Reconciler) changedSource(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
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
	err = r.below(ctx, inst, func(child *v1alpha1.Installation) (further bool, err error) {
		if reason == "" && child.Spec.Blueprint.SourceReference != nil {
			reason, err = r.Inputs.ChangedFolder(ctx, inst, child)
		}
		return reason == "", err
	})
	return reason, err
}

// showPending shows that a changed spec is not applied, and takes that back when it is none any more.
func (s *scope) showPending() {
	switch {
	case !s.inst.IsRoot():
	case s.inst.Spec.Suspend && s.inst.Status.JobID == "":
		protocol.Pending(s.inst, protocol.ReasonSuspended, "spec.suspend is set; nothing starts until it is removed")
	case s.inst.Spec.Suspend:
		// What is suspended stays what it is, and whoever waits for the spec to be observed, as a Flux Kustomization does, waits no longer. The end
		// of the suspension is another spec, so no change is lost.
		if s.inst.Status.ObservedGeneration == s.inst.Generation {
			s.pending(false, "", "")
			return
		}
		s.inst.Status.ObservedGeneration = s.inst.Generation
		for i := range s.inst.Status.Conditions {
			s.inst.Status.Conditions[i].ObservedGeneration = s.inst.Generation
		}
		s.restoreReady()
	case !jobs.FollowsChanges(s.inst):
		message := "the spec is not applied yet: annotate " + v1alpha1.OperationAnnotation + "=reconcile to apply it once, or " +
			v1alpha1.ReconcileIfChangedAnnotation + "=true to apply every change"
		if conditions.IsFalse(s.inst, jobs.FollowsChangesCondition) {
			message = conditions.GetMessage(s.inst, jobs.FollowsChangesCondition)
		}
		s.pending(s.inst.Generation != s.inst.Status.ObservedGeneration, protocol.ReasonNotTriggered, message)
	}
}

// wayIsClear reports whether the last job failed because of somebody else's Execution and now there is none.
func (s *scope) wayIsClear() bool {
	last := s.inst.Status.LastError
	return s.inst.Status.Phase == v1alpha1.PhaseFailed && last != nil && last.Reason == reasonExecutionExists &&
		s.foreign == nil && s.execution == nil
}

// nestedTrigger starts the job that the parent wrote the spec for.
func (r *Reconciler) nestedTrigger(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	parent, err := r.related.Parent(ctx, inst)
	return jobs.ReasonIf(err == nil && jobs.JobFromParent(inst, parent) != "", "job of the parent"), err
}

// pending shows that a changed spec is not applied.
func (s *scope) pending(changed bool, reason, message string) {
	if changed {
		protocol.Pending(s.inst, reason, message)
		return
	}
	if ready := conditions.Get(s.inst, meta.ReadyCondition); ready != nil &&
		(ready.Reason == protocol.ReasonNotTriggered || ready.Reason == protocol.ReasonSuspended) {
		s.restoreReady()
	}
}

// restoreReady shows the result of the last job again after a change was taken back.
func (s *scope) restoreReady() {
	switch last := s.inst.Status.LastError; {
	case s.inst.Status.Phase == v1alpha1.PhaseSucceeded:
		s.showSuccess()
	case last != nil:
		protocol.ShowFailure(s.inst, jobs.FailureOf(s.inst))
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
	protocol.Begin(s.inst, id, phase, s.now)
	s.begun.Store(client.ObjectKeyFromObject(s.inst), begunJob{id, s.now})
	s.inst.Status.ObservedGeneration = s.inst.Generation
	if token, ok := meta.ReconcileAnnotationValue(s.inst.Annotations); ok {
		s.inst.Status.LastHandledReconcileAt = token
	}
	if s.asked {
		s.inst.Status.OperationJobID = id
	}
	conditions.Delete(s.inst, meta.StalledCondition)
	conditions.Delete(s.inst, jobs.ChangedDuringJobCondition)
	conditions.Delete(s.inst, jobs.ImportMissingCondition)
	if conditions.IsUnknown(s.inst, jobs.FollowsChangesCondition) {
		conditions.Delete(s.inst, jobs.FollowsChangesCondition)
	}
	protocol.Progress(s.inst, meta.ProgressingReason, "job started: "+reason)
	s.started = s.inst.Status.DeepCopy()
}

// changedContext tells what the Context brought that may end the failure of the last job. Sub-installations at any depth fail by themselves, but only
// their root starts another job.
func (r *Reconciler) changedContext(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	failed := []*v1alpha1.Installation{inst}
	if jobs.FailedBelow(inst) {
		var err error
		if failed, err = r.causesBelow(ctx, inst); err != nil {
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
		below, err := r.causesBelow(ctx, inst)
		if err != nil {
			return "", err
		}
		overValue = slices.ContainsFunc(below, jobs.FailedOverValue)
	}
	return r.Inputs.HealedImports(ctx, inst, overValue)
}

// showMissingImport shows that something which the last job of a root imported was deleted since: the next job will fail. What is deployed stays Ready.
func (r *Reconciler) showMissingImport(ctx context.Context, s *scope) error {
	known, missing := conditions.GetMessage(s.inst, jobs.ImportMissingCondition), ""
	if s.inst.IsRoot() && s.inst.Status.Phase == v1alpha1.PhaseSucceeded {
		var err error
		if missing, err = r.Inputs.MissingImport(ctx, s.inst, known); err != nil {
			return err
		}
	}
	if missing == "" {
		conditions.Delete(s.inst, jobs.ImportMissingCondition)
		return nil
	}
	if known == "" {
		r.Recorder.Event(s.inst, corev1.EventTypeWarning, jobs.ReasonImportNotFound, protocol.Message(missing))
	}
	conditions.MarkTrue(s.inst, jobs.ImportMissingCondition, jobs.ReasonImportNotFound, "%s", missing)
	return nil
}

const loopGuardMessage = "the annotation " + v1alpha1.OperationAnnotation + " is kept in Git, so it would start a job at every sync; " +
	"it only starts one when the spec or a source changed. Replace it in Git by " + v1alpha1.ReconcileIfChangedAnnotation +
	": \"true\"; to start a job by hand set " + meta.ReconcileRequestAnnotation

// forgetOperation is the change that removes the operation annotation.
func forgetOperation() protocol.MetadataChange {
	return protocol.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}
}

// readOperation finds out what the operation annotation asks for. One that Flux owns is left alone, because Flux would put it back at every
// sync; one that asks in vain is removed. A suspended Installation keeps its operation until it may start something.
func (r *Reconciler) readOperation(ctx context.Context, s *scope) error {
	s.asked = false
	meaning := jobs.MeaningOf(s.inst)
	if s.inst.Annotations[v1alpha1.OperationAnnotation] == "" {
		conditions.Delete(s.inst, jobs.OperationInGitCondition)
	}
	if meaning == jobs.AsksNothing {
		return nil
	}
	owned, err := protocol.IsAppliedByFlux(ctx, r.Live, s.inst, "Installation", v1alpha1.OperationAnnotation)
	switch {
	case err != nil:
		return err
	case owned:
		r.showInGit(s)
	case meaning == jobs.AsksInVain:
		return r.patchMetadata(ctx, s, forgetOperation())
	default:
		conditions.Delete(s.inst, jobs.OperationInGitCondition)
		s.asked = true
	}
	return nil
}

// showInGit shows that Flux keeps an operation and what that means, with one event when it begins.
func (r *Reconciler) showInGit(s *scope) {
	reason, message := protocol.ReasonLoopGuard, loopGuardMessage
	if s.inst.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt {
		reason, message = protocol.ReasonInterruptInGit, protocol.InterruptInGitMessage
	}
	if conditions.GetReason(s.inst, jobs.OperationInGitCondition) != reason {
		r.Recorder.Event(s.inst, corev1.EventTypeWarning, reason, message)
	}
	conditions.MarkTrue(s.inst, jobs.OperationInGitCondition, reason, "%s", message)
}

// interrupt ends a running job: its children are told, and a job that has no children yet fails here. An operation that Flux keeps stays, because Flux would
// put it back at every sync; it ends the job that runs when it comes, and no later one.
func (r *Reconciler) interrupt(ctx context.Context, s *scope) error {
	if s.inst.Annotations[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt {
		if protocol.IsInterruptKnown(s.inst) {
			conditions.Delete(s.inst, jobs.OperationInGitCondition)
		}
		return nil
	}
	if s.inst.Status.IsIdle() {
		reason, err := r.nestedTrigger(ctx, s.inst)
		if err != nil || reason == "" {
			return err
		}
		s.start(jobs.NewJobID(s.inst), reason) // the job that the parent has asked for is interrupted, too
	}
	isKept, err := protocol.IsAppliedByFlux(ctx, r.Live, s.inst, "Installation", v1alpha1.OperationAnnotation)
	if err != nil || isKept && protocol.IsInterruptKnown(s.inst) {
		return err
	}
	err = r.interruptChildren(ctx, s, func(child protocol.JobObject) bool { return child.Job().JobIDFinished != s.inst.Status.JobID })
	if err != nil {
		return err
	}
	if isKept {
		r.showInGit(s)
	} else {
		conditions.Delete(s.inst, jobs.OperationInGitCondition)
	}
	if s.inst.DeletionTimestamp.IsZero() && (!jobs.Prepared(s.inst, s.execution, s.children) || s.isHeldUp()) || s.execution == nil && len(s.children) == 0 {
		s.fail(protocol.Interrupted())
		return protocol.ErrStop
	}
	if isKept {
		return nil
	}
	return r.patchMetadata(ctx, s, forgetOperation())
}

// isHeldUp reports whether the children have ended the running job and an error of the Installation itself keeps it from ending: nobody below can
// be interrupted, and the operation would be passed down again and again by parents that wait for this one.
func (s *scope) isHeldUp() bool {
	last := s.inst.Status.LastError
	return last != nil && !jobs.IsUnfinished(last) && !s.childrenRun()
}

// checkOwner refuses an Installation that names an owner which does not list it. Whoever may write Installations may write any owner into
// their metadata, but nobody except this controller writes their status. A deletion needs no owner, so it is not checked there.
func (r *Reconciler) checkOwner(ctx context.Context, s *scope) error {
	_, err := r.related.ListingParent(ctx, s.inst, relations.IsListed)
	failure, last := (*protocol.Failure)(nil), s.inst.Status.LastError
	if errors.As(err, &failure) && s.inst.Status.IsIdle() && last != nil && last.Reason == failure.Reason && last.Message == failure.Error() {
		return protocol.ErrStop // the status says so already
	}
	return err
}
