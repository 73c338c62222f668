// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// deleteChild deletes a sub-installation, which takes the running job from this one. After a failed deletion the annotation with the job
// starts the next. An orphan does not wait for consumers of its exports: the blueprint says that it is not wanted.
func (k *Keeper) deleteChild(ctx context.Context, f *Family, child *v1alpha1.Installation, orphan bool) error {
	job, yes := f.Inst.Status.JobID, "true"
	change := kit.MetadataChange{Annotations: map[string]*string{}}
	if jobs.DeleteFailed(child) && child.Status.JobIDFinished != job || kit.IsHeldBack(child, f.Inst) {
		change.Annotations[v1alpha1.JobAnnotation] = &job
	}
	if orphan {
		change.Annotations[v1alpha1.DeleteIgnoreSuccessorsAnnotation] = &yes
	}
	if !f.Inst.DeletionTimestamp.IsZero() && jobs.KeepsDeployed(f.Inst) {
		change.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = &yes
	}
	before := child.ResourceVersion
	if err := kit.PatchMetadata(ctx, k.Client, child, change); err != nil {
		return client.IgnoreNotFound(err)
	}
	if child.ResourceVersion != before {
		k.Installations.Wrote(child)
	}
	if !child.DeletionTimestamp.IsZero() {
		return nil
	}
	return kit.DeleteLive(ctx, k.Live, k.Client, child, k.Installations)
}

// DeleteChildren deletes all sub-installations; each waits for those that import from it.
func (k *Keeper) DeleteChildren(ctx context.Context, f *Family) error {
	for _, name := range slices.Sorted(maps.Keys(f.Children)) {
		if err := k.deleteChild(ctx, f, f.Children[name], false); err != nil {
			return err
		}
	}
	return nil
}

// ReasonNotDeleted says that children could not be deleted.
const ReasonNotDeleted = "ChildrenNotDeleted"

// AwaitDeletedChildren ends the deletion job when children have ended it and are still there, and waits while any is at work.
func (k *Keeper) AwaitDeletedChildren(_ context.Context, f *Family) error {
	var failed []string
	for _, name := range slices.Sorted(maps.Keys(f.Children)) {
		child := f.Children[name]
		if child.Status.JobIDFinished != f.Inst.Status.JobID {
			return f.await()
		}
		failed = append(failed, fmt.Sprintf("%s: %s", child.Name, jobs.LastMessage(child.Status.LastError)))
	}
	if f.Execution != nil && f.Execution.Status.JobIDFinished != f.Inst.Status.JobID {
		return f.await()
	}
	if f.Execution != nil {
		failed = append(failed, jobs.ExecutionFailure(f.Execution).Error())
	}
	if len(failed) == 0 {
		return nil
	}
	return &kit.Failure{
		Kind: kit.Stalled, Operation: "DeleteChildren", Reason: ReasonNotDeleted,
		Err: fmt.Errorf("not all sub objects were deleted: %s", strings.Join(failed, "; ")),
	}
}

// ForgetInterruption takes an interruption away that the Execution has left behind after the job it was for. One that the Execution has once it can
// see the deletion job is for that.
func (k *Keeper) ForgetInterruption(ctx context.Context, f *Family) error {
	if f.Execution == nil || !jobs.IsInterruptedIdle(f.Execution) {
		return nil
	}
	if err := kit.PatchMetadata(ctx, k.Client, f.Execution, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}); err != nil {
		return client.IgnoreNotFound(err)
	}
	k.Executions.Wrote(f.Execution)
	return nil
}

// DeleteExecution deletes the Execution.
func (k *Keeper) DeleteExecution(ctx context.Context, f *Family) error {
	if f.Execution == nil {
		return nil
	}
	if err := k.tellExecution(ctx, f); err != nil {
		return err
	}
	if f.Execution.DeletionTimestamp.IsZero() {
		return kit.DeleteLive(ctx, k.Live, k.Client, f.Execution, k.Executions)
	}
	return nil
}

// tellExecution tells the Execution to leave what was deployed in place, when the Installation says so, and that it may go, where the garbage
// collector has deleted it before.
func (k *Keeper) tellExecution(ctx context.Context, f *Family) error {
	value := "true"
	before := f.Execution.ResourceVersion
	change := kit.MetadataChange{Annotations: map[string]*string{}}
	if jobs.KeepsDeployed(f.Inst) {
		change.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = &value
	}
	if kit.IsHeldBack(f.Execution, f.Inst) {
		change.Annotations[v1alpha1.JobAnnotation] = &f.Inst.Status.JobID
	}
	if err := kit.PatchMetadata(ctx, k.Client, f.Execution, change); err != nil {
		return err
	}
	if f.Execution.ResourceVersion != before {
		k.Executions.Wrote(f.Execution)
	}
	return nil
}

// orphans returns the sub-installations without template that are deleted before the others are applied. Those that export Targets are left
// for later, because siblings uninstall through them, unless one of the new templates exports the same.
func (f *Family) orphans(active []v1alpha1.SubNamePair, templates []model.InstallationTemplate) []*v1alpha1.Installation {
	return slices.DeleteFunc(f.withoutTemplate(active), func(orphan *v1alpha1.Installation) bool {
		return len(orphan.Spec.Exports.Targets) > 0 && !relations.StillExports(orphan, templates)
	})
}

// withoutTemplate returns the sub-installations that are not active, by name.
func (f *Family) withoutTemplate(active []v1alpha1.SubNamePair) []*v1alpha1.Installation {
	var orphans []*v1alpha1.Installation
	for _, name := range slices.Sorted(maps.Keys(f.Children)) {
		if !slices.ContainsFunc(active, func(pair v1alpha1.SubNamePair) bool { return pair.ObjectName == name }) {
			orphans = append(orphans, f.Children[name])
		}
	}
	return orphans
}

// deleteOrphans deletes sub-installations and waits until they are gone.
func (k *Keeper) deleteOrphans(ctx context.Context, f *Family, orphans []*v1alpha1.Installation) error {
	for _, orphan := range orphans {
		if jobs.DeleteFailed(orphan) && orphan.Status.JobIDFinished == f.Inst.Status.JobID {
			return kit.Stall(jobs.Operation, "AllOrphanedSubinstallationsFailed", "sub-installation %s cannot be deleted: %s",
				orphan.Name, jobs.LastMessage(orphan.Status.LastError))
		}
		if err := k.deleteChild(ctx, f, orphan, true); err != nil {
			return err
		}
	}
	if len(orphans) == 0 {
		return nil
	}
	message := fmt.Sprintf("waiting for sub-installation %s to be deleted", orphans[0].Name)
	if first := jobs.EndsFirst(f.Inst.Status.JobID, nil, map[string]*v1alpha1.Installation{orphans[0].Name: orphans[0]}); first != "" {
		message += ": " + first
	}
	return kit.Wait(jobs.Operation, string(v1alpha1.PhaseCleanupOrphaned), "%s", message)
}

// DeleteLateOrphans deletes the remaining sub-installations without template, now that their siblings have left them.
func (k *Keeper) DeleteLateOrphans(ctx context.Context, f *Family) error {
	if f.Inst.Status.SubInstCache == nil {
		return nil
	}
	return k.deleteOrphans(ctx, f, f.withoutTemplate(f.Inst.Status.SubInstCache.ActiveSubs))
}
