// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	reasonLoopGuard  = kit.ReasonLoopGuard
	loopGuardMessage = "the annotation " + v1alpha1.OperationAnnotation + " is kept in Git, so it would start a job at every sync; " +
		"it only starts one when the spec or a source changed. Replace it in Git by " + v1alpha1.ReconcileIfChangedAnnotation +
		": \"true\"; to start a job by hand set " + meta.ReconcileRequestAnnotation
)

// readOperation finds out what the operation annotation asks for. One that Flux owns is left alone, because Flux would put it back at every
// sync; one that asks in vain is removed. A suspended Installation keeps its operation until it may start something.
func (r *Reconciler) readOperation(ctx context.Context, s *reconciliation) error {
	s.asked = false
	meaning := jobs.MeaningOf(s.Inst)
	if s.Inst.Annotations[v1alpha1.OperationAnnotation] == "" {
		conditions.Delete(s.Inst, jobs.OperationInGitCondition)
	}
	if meaning == jobs.AsksNothing {
		return nil
	}
	owned, err := kit.IsAppliedByFlux(ctx, r.Live, s.Inst, "Installation", v1alpha1.OperationAnnotation)
	switch {
	case err != nil:
		return err
	case owned:
		showInGit(r.Recorder, s)
	case meaning == jobs.AsksInVain:
		return r.writer.PatchMetadata(ctx, s.Draft, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
	default:
		conditions.Delete(s.Inst, jobs.OperationInGitCondition)
		s.asked = true
	}
	return nil
}

// isRetry reports whether the operation that starts a job says of itself that it retries a failed one.
func (s *reconciliation) isRetry() bool {
	return s.asked && s.Inst.Annotations[v1alpha1.ReconcileReasonAnnotation] == v1alpha1.ReconcileReasonRetry
}

// showInGit shows that Flux keeps an operation and what that means, with one event when it begins.
func showInGit(events record.EventRecorder, s *reconciliation) {
	reason, message := reasonLoopGuard, loopGuardMessage
	if s.Inst.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt {
		reason, message = kit.ReasonInterruptInGit, kit.InterruptInGitMessage
	}
	if conditions.GetReason(s.Inst, jobs.OperationInGitCondition) != reason {
		events.Event(s.Inst, corev1.EventTypeWarning, reason, message)
	}
	conditions.MarkTrue(s.Inst, jobs.OperationInGitCondition, reason, "%s", message)
}

// interrupt ends a running job: its children are told, and a job that has no children yet fails here. An operation that Flux keeps stays, because Flux would
// put it back at every sync; it ends the job that runs when it comes, and no later one.
func (r *Reconciler) interrupt(ctx context.Context, s *reconciliation) error {
	if s.Inst.Annotations[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt {
		if kit.IsInterruptKnown(s.Inst) {
			conditions.Delete(s.Inst, jobs.OperationInGitCondition)
		}
		return nil
	}
	if s.Inst.Status.IsIdle() {
		if taken, err := r.takePending(ctx, s); err != nil || !taken {
			return err
		}
	}
	isKept, err := kit.IsAppliedByFlux(ctx, r.Live, s.Inst, "Installation", v1alpha1.OperationAnnotation)
	if err != nil || isKept && kit.IsInterruptKnown(s.Inst) {
		return err
	}
	err = r.children.Interrupt(ctx, s.family, func(child kit.JobObject) bool { return child.Job().JobIDFinished != s.Inst.Status.JobID })
	if err != nil {
		return err
	}
	if isKept {
		showInGit(r.Recorder, s)
	} else {
		conditions.Delete(s.Inst, jobs.OperationInGitCondition)
	}
	if s.Inst.DeletionTimestamp.IsZero() && (!jobs.Prepared(s.Inst, s.family.Execution, s.family.Children) || s.isHeldUp()) || s.family.Execution == nil && len(s.family.Children) == 0 {
		s.fail(kit.Interrupted())
		return kit.ErrStop
	}
	if isKept {
		return nil
	}
	return r.writer.PatchMetadata(ctx, s.Draft, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
}

// isHeldUp reports whether the children have ended the running job and an error of the Installation itself keeps it from ending: nobody below can
// be interrupted, and the operation would be passed down again and again by parents that wait for this one.
func (s *reconciliation) isHeldUp() bool {
	last := s.Inst.Status.LastError
	return last != nil && !jobs.IsUnfinished(last) && !s.family.Run()
}

// takePending begins the job that the parent has asked for, so that an interruption can end it.
func (r *Reconciler) takePending(ctx context.Context, s *reconciliation) (bool, error) {
	reason, err := r.nestedTrigger(ctx, s.Inst)
	if err != nil || reason == "" {
		return false, err
	}
	s.start(jobs.NewJobID(s.Inst), reason)
	return true, nil
}
