// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// reasonAwaitsJob says that a deletion waits for the end of the job that runs.
const reasonAwaitsJob = "DeletionAwaitsJob"

// decideDeletion starts the deletion job. It needs nothing but what the cluster recorded: neither blueprint nor imports.
func (r *Reconciler) decideDeletion(ctx context.Context, s *scope) error {
	inst := s.inst
	if !slices.Contains(inst.Finalizers, v1alpha1.Finalizer) || protocol.IsOrphaning(inst) {
		return protocol.ErrStop
	}
	if !inst.Status.IsIdle() {
		return r.continueDeletion(ctx, s)
	}
	if inst.Status.Phase == v1alpha1.PhaseDeleteFailed {
		if err := r.readOperation(ctx, s); err != nil {
			return err
		}
		if again, err := r.retriesDeletion(ctx, s); err != nil || !again {
			return cmp.Or(err, protocol.ErrStop)
		}
	}
	return r.beginDeletion(ctx, s)
}

// retriesDeletion reports whether a failed deletion is tried again: when somebody asks for it, and of roots also by the clock or when the
// sibling that was in the way is out of it.
func (r *Reconciler) retriesDeletion(ctx context.Context, s *scope) (bool, error) {
	parent, err := r.related.Parent(ctx, s.inst)
	if err != nil || s.asked || jobs.DeletionRequested(s.inst, parent) {
		return err == nil, err
	}
	if last := s.inst.Status.LastError; last != nil && last.Reason == reasonNotDeleted && !s.someFailed() {
		return true, nil
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
	if jobs.Prepared(s.inst, s.execution, s.children) && s.childrenRun() {
		r.showRunningJob(s)
		return cmp.Or(r.interruptChildren(ctx, s, jobs.IsStuck), protocol.ErrStop)
	}
	return r.beginDeletion(ctx, s)
}

// showRunningJob shows which job a deletion waits for, with one event when it begins to wait.
func (r *Reconciler) showRunningJob(s *scope) {
	cause := protocol.Cause{Reason: reasonAwaitsJob, Message: fmt.Sprintf("deletion waits for the running job %s; annotate %s=%s to end it",
		s.inst.Status.JobID, v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)}
	if below := jobs.CauseBelow(s.inst.Status.JobID, s.execution, s.children); below.Message != "" {
		cause.Message += ": " + below.Message
	}
	if protocol.CauseOf(s.inst).Reason != cause.Reason {
		r.Recorder.Event(s.inst, corev1.EventTypeNormal, cause.Reason, protocol.Message(cause.Message))
	}
	protocol.ShowCause(s.inst, cause, "")
}

func (r *Reconciler) beginDeletion(ctx context.Context, s *scope) error {
	if err := r.readOperation(ctx, s); err != nil {
		return err
	}
	parent, err := r.related.Parent(ctx, s.inst)
	if err != nil {
		return err
	}
	if protocol.IsHeldBack(s.inst, parent) {
		// The parent waits for the job that this one still has, to begin its own deletion. It is not the deletion that failed.
		if !s.inst.Status.IsIdle() {
			s.fail(protocol.Interrupted())
			protocol.SetPhase(s.inst.Job(), v1alpha1.PhaseFailed, s.now)
		}
		return protocol.ErrStop
	}
	if err := r.forgetInterruption(ctx, s); err != nil {
		return err
	}
	job := jobs.DeletionJob(s.inst, parent)
	r.forget(client.ObjectKeyFromObject(s.inst))
	s.start(job, "deletion")
	protocol.Progress(s.inst, protocol.ReasonDeleting, "the installation is being deleted")
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	return r.mend(ctx, s)
}

// release lets the Installation go once nothing of it is left.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	if err := r.patchMetadata(ctx, s, protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	if !forceRequested(s.inst) {
		r.announceRelease(ctx, s, s.took())
	}
	r.installations.Released(s.inst)
	r.forget(client.ObjectKeyFromObject(s.inst))
	s.inst.Status = *s.persisted
	return nil
}

// deleteChild deletes a sub-installation, which takes the running job from this one. After a failed deletion the annotation with the job
// starts the next. An orphan does not wait for consumers of its exports: the blueprint says that it is not wanted.
func (r *Reconciler) deleteChild(ctx context.Context, s *scope, child *v1alpha1.Installation, orphan bool) error {
	job, yes := s.inst.Status.JobID, "true"
	change := protocol.MetadataChange{Annotations: map[string]*string{}}
	if jobs.DeleteFailed(child) && child.Status.JobIDFinished != job || protocol.IsHeldBack(child, s.inst) {
		change.Annotations[v1alpha1.JobAnnotation] = &job
	}
	if orphan {
		change.Annotations[v1alpha1.DeleteIgnoreSuccessorsAnnotation] = &yes
	}
	if !s.inst.DeletionTimestamp.IsZero() && jobs.KeepsDeployed(s.inst) {
		change.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = &yes
	}
	if err := r.patch(ctx, child, change); err != nil {
		return client.IgnoreNotFound(err)
	}
	return protocol.DeleteLive(ctx, r.Live, r.Client, child, &r.installations)
}

// deleteChildren deletes all sub-installations; each waits for those that import from it.
func (r *Reconciler) deleteChildren(ctx context.Context, s *scope) error {
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		if err := r.deleteChild(ctx, s, s.children[name], false); err != nil {
			return err
		}
	}
	return nil
}

// reasonNotDeleted says that children could not be deleted.
const reasonNotDeleted = "ChildrenNotDeleted"

// awaitDeletedChildren ends the deletion job when children have ended it and are still there, and waits while any is at work.
func (r *Reconciler) awaitDeletedChildren(_ context.Context, s *scope) error {
	var failed []string
	for _, child := range s.all() {
		switch child := child.(type) {
		case *v1alpha1.Installation:
			failed = append(failed, fmt.Sprintf("%s: %s", child.Name, jobs.LastMessage(child.Status.LastError)))
		case *v1alpha1.Execution:
			failed = append(failed, jobs.ExecutionFailure(child).Error())
		}
		if child.Job().JobIDFinished != s.inst.Status.JobID {
			return s.await()
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &protocol.Failure{
		Kind: protocol.Stalled, Operation: "DeleteChildren", Reason: reasonNotDeleted,
		Err: fmt.Errorf("not all sub objects were deleted: %s", strings.Join(failed, "; ")),
	}
}

// forgetInterruption takes an interruption away that the Execution has left behind after the job it was for. One that the Execution has once it can
// see the deletion job is for that.
func (r *Reconciler) forgetInterruption(ctx context.Context, s *scope) error {
	if s.execution == nil || !jobs.IsInterruptedIdle(s.execution) {
		return nil
	}
	return client.IgnoreNotFound(r.patch(ctx, s.execution, protocol.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}))
}

// deleteExecution deletes the Execution. It tells it to leave what was deployed in place, when the Installation says so, and that it may go, where the
// garbage collector has deleted it before.
func (r *Reconciler) deleteExecution(ctx context.Context, s *scope) error {
	if s.execution == nil {
		return nil
	}
	value, change := "true", protocol.MetadataChange{Annotations: map[string]*string{}}
	if jobs.KeepsDeployed(s.inst) {
		change.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = &value
	}
	if protocol.IsHeldBack(s.execution, s.inst) {
		change.Annotations[v1alpha1.JobAnnotation] = &s.inst.Status.JobID
	}
	if err := r.patch(ctx, s.execution, change); err != nil {
		return err
	}
	return protocol.DeleteLive(ctx, r.Live, r.Client, s.execution, &r.executions)
}

// orphans returns the sub-installations without template that are deleted before the others are applied. Those that export Targets are left
// for later, because siblings uninstall through them, unless one of the new templates exports the same.
func (s *scope) orphans(active []v1alpha1.SubNamePair, templates []model.InstallationTemplate) []*v1alpha1.Installation {
	return slices.DeleteFunc(s.withoutTemplate(active), func(orphan *v1alpha1.Installation) bool {
		return len(orphan.Spec.Exports.Targets) > 0 && !relations.StillExports(orphan, templates)
	})
}

// withoutTemplate returns the sub-installations that are not active, by name.
func (s *scope) withoutTemplate(active []v1alpha1.SubNamePair) []*v1alpha1.Installation {
	var orphans []*v1alpha1.Installation
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		if !slices.ContainsFunc(active, func(pair v1alpha1.SubNamePair) bool { return pair.ObjectName == name }) {
			orphans = append(orphans, s.children[name])
		}
	}
	return orphans
}

// deleteOrphans deletes sub-installations and waits until they are gone.
func (r *Reconciler) deleteOrphans(ctx context.Context, s *scope, orphans []*v1alpha1.Installation) error {
	for _, orphan := range orphans {
		if jobs.DeleteFailed(orphan) && orphan.Status.JobIDFinished == s.inst.Status.JobID {
			return protocol.Stall(jobs.Operation, "AllOrphanedSubinstallationsFailed", "sub-installation %s cannot be deleted: %s",
				orphan.Name, jobs.LastMessage(orphan.Status.LastError))
		}
		if err := r.deleteChild(ctx, s, orphan, true); err != nil {
			return err
		}
	}
	if len(orphans) == 0 {
		return nil
	}
	message := fmt.Sprintf("waiting for sub-installation %s to be deleted", orphans[0].Name)
	if first := jobs.EndsFirst(s.inst.Status.JobID, nil, map[string]*v1alpha1.Installation{orphans[0].Name: orphans[0]}); first != "" {
		message += ": " + first
	}
	return protocol.Wait(jobs.Operation, string(v1alpha1.PhaseCleanupOrphaned), "%s", message)
}

// deleteLateOrphans deletes the remaining sub-installations without template, now that their siblings have left them.
func (r *Reconciler) deleteLateOrphans(ctx context.Context, s *scope) error {
	if s.inst.Status.SubInstCache == nil {
		return nil
	}
	return r.deleteOrphans(ctx, s, s.withoutTemplate(s.inst.Status.SubInstCache.ActiveSubs))
}
