// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// decideDeletion starts the deletion job. It needs nothing but what the cluster recorded: neither blueprint nor imports.
func (r *Reconciler) decideDeletion(ctx context.Context, s *scope) error {
	inst := s.inst
	if !slices.Contains(inst.Finalizers, v1alpha1.Finalizer) || kit.IsOrphaning(inst) {
		return kit.ErrStop
	}
	if !inst.Status.IsIdle() {
		return r.continueDeletion(ctx, s)
	}
	if inst.Status.Phase == v1alpha1.PhaseDeleteFailed {
		if err := r.readOperation(ctx, s); err != nil {
			return err
		}
		if again, err := r.retriesDeletion(ctx, s); err != nil || !again {
			return stopUnless(err)
		}
	}
	return r.beginDeletion(ctx, s)
}

// stopUnless stops when there is no error.
func stopUnless(err error) error {
	if err != nil {
		return err
	}
	return kit.ErrStop
}

// retriesDeletion reports whether a failed deletion is tried again: when somebody asks for it, and of roots also by the clock or when the
// sibling that was in the way is out of it.
func (r *Reconciler) retriesDeletion(ctx context.Context, s *scope) (bool, error) {
	parent, err := r.related.Parent(ctx, s.inst)
	if err != nil || s.asked || jobs.DeletionRequested(s.inst, parent) {
		return err == nil, err
	}
	if !s.inst.IsRoot() {
		return false, nil
	}
	if s.dueByClock() {
		return true, nil
	}
	if last := s.inst.Status.LastError; last == nil || last.Reason != jobs.ReasonSiblingDeleteError {
		return false, nil
	}
	successors, err := r.related.AwaitedSuccessors(ctx, s.inst)
	failed := slices.ContainsFunc(successors, func(successor *v1alpha1.Installation) bool { return jobs.DeleteFailed(successor) })
	return !failed, err
}

// continueDeletion lets a job that still applies end first. One that has created nothing gives way.
func (r *Reconciler) continueDeletion(ctx context.Context, s *scope) error {
	if s.inst.Status.Phase.IsDeletion() {
		return nil
	}
	if jobs.Prepared(s.inst, s.execution) && s.childrenRun() {
		return stopUnless(r.interruptChildren(ctx, s, jobs.IsStuck))
	}
	return r.beginDeletion(ctx, s)
}

// childrenRun reports whether the Execution or a sub-installation is at work. The deletion of a sub-installation is none: it ends with that of
// this one, which deletes who holds it up.
func (s *scope) childrenRun() bool {
	for _, child := range s.children {
		if !child.Status.IsIdle() && !child.Status.Phase.IsDeletion() {
			return true
		}
	}
	return s.execution != nil && !s.execution.Status.IsIdle()
}

func (r *Reconciler) beginDeletion(ctx context.Context, s *scope) error {
	if err := r.readOperation(ctx, s); err != nil {
		return err
	}
	parent, err := r.related.Parent(ctx, s.inst)
	if err != nil {
		return err
	}
	if kit.IsHeldBack(s.inst, parent) {
		return s.giveWay()
	}
	if err := r.forgetInterruption(ctx, s); err != nil {
		return err
	}
	job := jobs.DeletionJob(s.inst, parent)
	r.forgetJob(client.ObjectKeyFromObject(s.inst))
	s.start(job, "deletion")
	kit.Progress(s.inst, kit.ReasonDeleting, "the installation is being deleted")
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	return r.mendMetadata(ctx, s)
}

// giveWay ends the job that a sub-installation still has while its deletion has to wait for its parent: that waits for the job, to begin its own
// deletion. It is not the deletion that failed.
func (s *scope) giveWay() error {
	if !s.inst.Status.IsIdle() {
		s.fail(interrupted())
		kit.SetPhase(s.inst.Job(), v1alpha1.PhaseFailed, s.now)
	}
	return kit.ErrStop
}

// forgetInterruption takes an interruption away that the Execution has left behind after the job it was for. One that the Execution has once it can
// see the deletion job is for that.
func (r *Reconciler) forgetInterruption(ctx context.Context, s *scope) error {
	if s.execution == nil || !jobs.IsInterruptedIdle(s.execution) {
		return nil
	}
	if err := kit.PatchMetadata(ctx, r.Client, s.execution, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.executions.Wrote(s.execution)
	return nil
}

// deleteExecution deletes the Execution.
func (r *Reconciler) deleteExecution(ctx context.Context, s *scope) error {
	if s.execution == nil {
		return nil
	}
	if err := r.tellExecution(ctx, s); err != nil {
		return err
	}
	if s.execution.DeletionTimestamp.IsZero() {
		return kit.DeleteLive(ctx, r.Live, r.Client, s.execution, &r.executions)
	}
	return nil
}

// tellExecution tells the Execution to leave what was deployed in place, when the Installation says so, and that it may go, where the garbage
// collector has deleted it before.
func (r *Reconciler) tellExecution(ctx context.Context, s *scope) error {
	value := "true"
	before := s.execution.ResourceVersion
	change := kit.MetadataChange{Annotations: map[string]*string{}}
	if orphans(s.inst) {
		change.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = &value
	}
	if kit.IsHeldBack(s.execution, s.inst) {
		change.Annotations[v1alpha1.JobAnnotation] = &s.inst.Status.JobID
	}
	if err := kit.PatchMetadata(ctx, r.Client, s.execution, change); err != nil {
		return err
	}
	if s.execution.ResourceVersion != before {
		r.executions.Wrote(s.execution)
	}
	return nil
}

// orphans reports whether deletion leaves what was deployed in place. A suspended object does, as everywhere in Flux.
func orphans(inst *v1alpha1.Installation) bool {
	return inst.Spec.Suspend || inst.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan ||
		inst.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] == "true"
}

// release lets the Installation go once nothing of it is left.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	if err := r.patchMetadata(ctx, s, kit.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	r.installations.Released(s.inst)
	r.forgetJob(client.ObjectKeyFromObject(s.inst))
	s.inst.Status = *s.persisted
	return nil
}
