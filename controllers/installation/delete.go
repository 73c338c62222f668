// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/force"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// reasonAwaitsJob says that a deletion waits for the end of the job that runs.
const reasonAwaitsJob = "DeletionAwaitsJob"

// decideDeletion starts the deletion job. It needs nothing but what the cluster recorded: neither blueprint nor imports.
func (r *Reconciler) decideDeletion(ctx context.Context, s *reconciliation) error {
	inst := s.Inst
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
func (r *Reconciler) retriesDeletion(ctx context.Context, s *reconciliation) (bool, error) {
	parent, err := r.related.Parent(ctx, s.Inst)
	if err != nil || s.asked || jobs.DeletionRequested(s.Inst, parent) {
		return err == nil, err
	}
	if last := s.Inst.Status.LastError; last != nil && last.Reason == children.ReasonNotDeleted && !s.family.SomeFailed() {
		return true, nil
	}
	if !s.Inst.IsRoot() {
		return false, nil
	}
	if s.dueByClock() {
		return true, nil
	}
	if last := s.Inst.Status.LastError; last == nil || last.Reason != jobs.ReasonSiblingDeleteError {
		return false, nil
	}
	successors, err := r.related.AwaitedSuccessors(ctx, s.Inst)
	failed := slices.ContainsFunc(successors, func(successor *v1alpha1.Installation) bool { return jobs.DeleteFailed(successor) })
	return !failed, err
}

// continueDeletion lets a job that still applies end first. One that has created nothing gives way.
func (r *Reconciler) continueDeletion(ctx context.Context, s *reconciliation) error {
	if s.Inst.Status.Phase.IsDeletion() {
		return nil
	}
	if jobs.Prepared(s.Inst, s.family.Execution, s.family.Children) && s.family.Run() {
		showRunningJob(r.Recorder, s)
		return stopUnless(r.children.Interrupt(ctx, s.family, jobs.IsStuck))
	}
	return r.beginDeletion(ctx, s)
}

// showRunningJob shows which job a deletion waits for, with one event when it begins to wait.
func showRunningJob(events record.EventRecorder, s *reconciliation) {
	cause := kit.Cause{Reason: reasonAwaitsJob, Message: fmt.Sprintf("deletion waits for the running job %s; annotate %s=%s to end it",
		s.Inst.Status.JobID, v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)}
	if below := jobs.CauseBelow(s.Inst.Status.JobID, s.family.Execution, s.family.Children); below.Message != "" {
		cause.Message += ": " + below.Message
	}
	if kit.CauseOf(s.Inst).Reason != cause.Reason {
		events.Event(s.Inst, corev1.EventTypeNormal, cause.Reason, kit.Message(cause.Message))
	}
	kit.ShowCause(s.Inst, cause, "")
}

func (r *Reconciler) beginDeletion(ctx context.Context, s *reconciliation) error {
	if err := r.readOperation(ctx, s); err != nil {
		return err
	}
	parent, err := r.related.Parent(ctx, s.Inst)
	if err != nil {
		return err
	}
	if kit.IsHeldBack(s.Inst, parent) {
		return s.giveWay()
	}
	if err := r.children.ForgetInterruption(ctx, s.family); err != nil {
		return err
	}
	job := jobs.DeletionJob(s.Inst, parent)
	r.plans.Forget(client.ObjectKeyFromObject(s.Inst))
	s.start(job, "deletion")
	kit.Progress(s.Inst, kit.ReasonDeleting, "the installation is being deleted")
	if err := r.writer.WriteStatus(ctx, s.Draft); err != nil {
		return err
	}
	return r.writer.Mend(ctx, s.Draft)
}

// giveWay ends the job that a sub-installation still has while its deletion has to wait for its parent: that waits for the job, to begin its own
// deletion. It is not the deletion that failed.
func (s *reconciliation) giveWay() error {
	if !s.Inst.Status.IsIdle() {
		s.fail(kit.Interrupted())
		kit.SetPhase(s.Inst.Job(), v1alpha1.PhaseFailed, s.Now)
	}
	return kit.ErrStop
}

// release lets the Installation go once nothing of it is left.
func (r *Reconciler) release(ctx context.Context, s *reconciliation) error {
	if err := r.writer.PatchMetadata(ctx, s.Draft, kit.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	if !force.Requested(s.Inst) {
		r.writer.AnnounceRelease(ctx, s.Draft, s.took())
	}
	r.installations.Released(s.Inst)
	r.plans.Forget(client.ObjectKeyFromObject(s.Inst))
	s.Inst.Status = *s.Persisted
	return nil
}
