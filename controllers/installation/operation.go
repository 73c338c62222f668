// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"maps"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	reasonLoopGuard  = kit.ReasonLoopGuard
	loopGuardMessage = "the annotation " + v1alpha1.OperationAnnotation + " is kept in Git, so it would start a job at every sync; " +
		"it only starts one when the spec or a source changed. Replace it in Git by " + v1alpha1.ReconcileIfChangedAnnotation +
		": \"true\"; to start a job by hand set " + meta.ReconcileRequestAnnotation
	finalizerRestoredMessage = "the finalizer " + v1alpha1.Finalizer + " was removed and is back: without it a deletion would not wait for what is installed. " +
		"To leave it there annotate " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true"
)

// recordStart writes that the job of an operation has started, in status and then in metadata, where it ends in the reconciliation that started
// it: no version may show the end while nothing but the annotations tells whether the operation is the one that the job answers.
func (r *Reconciler) recordStart(ctx context.Context, s *scope) error {
	if s.started == nil || !jobs.OperationAnswered(s.inst) || s.inst.Status.JobIDFinished != s.inst.Status.OperationJobID {
		return nil
	}
	end := s.inst.Status.DeepCopy()
	s.inst.Status = *s.started
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	if err := r.mendMetadata(ctx, s); err != nil {
		return err
	}
	s.inst.Status = *end
	return nil
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
	owned, err := kit.IsAppliedByFlux(ctx, r.Live, s.inst, "Installation", v1alpha1.OperationAnnotation)
	switch {
	case err != nil:
		return err
	case owned:
		r.guardLoop(s)
	case meaning == jobs.AsksInVain:
		return r.patchMetadata(ctx, s, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
	default:
		conditions.Delete(s.inst, jobs.OperationInGitCondition)
		s.asked = true
	}
	return nil
}

// mendMetadata removes the operation annotation that has started a job, after status said so: whoever waits for the end of the job sees
// either the annotation or the new job. It puts the finalizer back where a client has removed it while there is something to clean up, more and
// more rarely while that repeats. It writes nothing where nothing is amiss.
func (r *Reconciler) mendMetadata(ctx context.Context, s *scope) error {
	if !s.lacksFinalizer() {
		return r.patchMetadata(ctx, s, s.answer(kit.MetadataChange{}))
	}
	key := client.ObjectKeyFromObject(s.inst).String()
	if r.restored.IsInBackOffSinceUpdate(key, s.now) {
		s.Wake(r.restored.Get(key))
		return r.patchMetadata(ctx, s, s.answer(kit.MetadataChange{}))
	}
	if err := r.patchMetadata(ctx, s, s.answer(kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer})); err != nil {
		return err
	}
	r.restored.Next(key, s.now)
	r.Recorder.Event(s.inst, corev1.EventTypeWarning, kit.ReasonFinalizerRestored, finalizerRestoredMessage)
	return nil
}

// lacksFinalizer reports whether an Installation with something to clean up is without the finalizer that its deletion waits for.
func (s *scope) lacksFinalizer() bool {
	return s.inst.DeletionTimestamp.IsZero() && (s.inst.Status.ExecutionReference != nil || s.inst.Status.SubInstCache != nil) &&
		!slices.Contains(s.inst.Finalizers, v1alpha1.Finalizer)
}

// answer adds to a change of metadata what forgets the operation that has started a job.
func (s *scope) answer(change kit.MetadataChange) kit.MetadataChange {
	if !jobs.OperationAnswered(s.inst) {
		return change
	}
	change.Annotations = map[string]*string{v1alpha1.JobAnnotation: &s.inst.Status.OperationJobID, v1alpha1.ReconcileReasonAnnotation: nil}
	if s.inst.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationReconcile {
		change.Annotations[v1alpha1.OperationAnnotation] = nil
	}
	return change
}

// isRetry reports whether the operation that starts a job says of itself that it retries a failed one.
func (s *scope) isRetry() bool {
	return s.asked && s.inst.Annotations[v1alpha1.ReconcileReasonAnnotation] == v1alpha1.ReconcileReasonRetry
}

// guardLoop shows the loop guard, with one event when it begins.
func (r *Reconciler) guardLoop(s *scope) {
	if !conditions.Has(s.inst, jobs.OperationInGitCondition) {
		r.Recorder.Event(s.inst, corev1.EventTypeWarning, reasonLoopGuard, loopGuardMessage)
	}
	conditions.MarkTrue(s.inst, jobs.OperationInGitCondition, reasonLoopGuard, "%s", loopGuardMessage)
}

// interrupt ends a running job: its children are told, and a job that has no children yet fails here.
func (r *Reconciler) interrupt(ctx context.Context, s *scope) error {
	if s.inst.Annotations[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt {
		return nil
	}
	if s.inst.Status.IsIdle() {
		if taken, err := r.takePending(ctx, s); err != nil || !taken {
			return err
		}
	}
	err := r.interruptChildren(ctx, s, func(child kit.JobObject) bool { return child.Job().JobIDFinished != s.inst.Status.JobID })
	if err != nil {
		return err
	}
	if s.inst.DeletionTimestamp.IsZero() && (!jobs.Prepared(s.inst, s.execution) || s.isHeldUp()) || s.execution == nil && len(s.children) == 0 {
		s.fail(interrupted())
		return kit.ErrStop
	}
	return r.patchMetadata(ctx, s, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
}

// isHeldUp reports whether the children have ended the running job and an error of the Installation itself keeps it from ending: nobody below can
// be interrupted, and the operation would be passed down again and again by parents that wait for this one.
func (s *scope) isHeldUp() bool {
	last := s.inst.Status.LastError
	return last != nil && !jobs.IsUnfinished(last) && !s.childrenRun()
}

// takePending begins the job that the parent has asked for, so that an interruption can end it.
func (r *Reconciler) takePending(ctx context.Context, s *scope) (bool, error) {
	reason, err := r.nestedTrigger(ctx, s.inst)
	if err != nil || reason == "" {
		return false, err
	}
	s.start(jobs.NewJobID(s.inst), reason)
	return true, nil
}

// interruptChildren passes the operation on to the children that have to end their job.
func (r *Reconciler) interruptChildren(ctx context.Context, s *scope, has func(child kit.JobObject) bool) error {
	value := v1alpha1.OperationInterrupt
	change := kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: &value}}
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		child := s.children[name]
		if !has(child) {
			continue
		}
		if err := kit.PatchMetadata(ctx, r.Client, child, change); err != nil {
			return err
		}
		r.installations.Wrote(child)
	}
	if s.execution == nil || !has(s.execution) {
		return nil
	}
	if err := kit.PatchMetadata(ctx, r.Client, s.execution, change); err != nil {
		return err
	}
	r.executions.Wrote(s.execution)
	return nil
}

func interrupted() *kit.Failure {
	return &kit.Failure{
		Kind: kit.Stalled, Operation: "InterruptOperation", Reason: "InterruptOperation", Err: errInterrupted,
	}
}

// patchMetadata writes metadata and keeps the status that this reconciliation has prepared.
func (r *Reconciler) patchMetadata(ctx context.Context, s *scope, change kit.MetadataChange) error {
	err := kit.PatchMetadataOnly(ctx, r.Client, s.inst, &s.inst.Status, change, &r.installations)
	if apierrors.IsConflict(err) {
		err = r.patchMetadataBeside(ctx, s, err, change)
	}
	if apierrors.IsNotFound(err) {
		return kit.ErrStop
	}
	return err
}
