// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// findChildren reads the sub-installations from the index; those of a former Installation with the same name are none. It stops while the
// cache is older than what was written to them last.
func (r *Reconciler) findChildren(ctx context.Context, s *scope) error {
	list := &v1alpha1.InstallationList{}
	err := r.List(ctx, list, client.InNamespace(s.inst.Namespace), client.MatchingFields{relations.ParentIndex: s.inst.Name})
	if err != nil {
		return err
	}
	s.children = map[string]*v1alpha1.Installation{}
	for i := range list.Items {
		child := &list.Items[i]
		if !metav1.IsControlledBy(child, s.inst) || s.isForeign(child) {
			continue
		}
		if r.installations.Stale(child) {
			return kit.ErrStop
		}
		s.children[child.Name] = child
	}
	return r.awaitCreatedChildren(s)
}

// isForeign reports whether a deletion has nothing to do with an Installation that names this one as its owner: this one has never made it, and
// it may well own this one. The garbage collector deletes it afterwards.
func (s *scope) isForeign(child *v1alpha1.Installation) bool {
	return !s.inst.DeletionTimestamp.IsZero() && !s.inst.Status.Lists(child.Name)
}

// awaitCreatedChildren stops while the cache does not show a sub-installation that this job has created.
func (r *Reconciler) awaitCreatedChildren(s *scope) error {
	if s.inst.Status.SubInstCache == nil {
		return nil
	}
	for _, pair := range s.inst.Status.SubInstCache.ActiveSubs {
		key := client.ObjectKey{Namespace: s.inst.Namespace, Name: pair.ObjectName}
		if s.children[pair.ObjectName] != nil {
			continue
		}
		if wait := r.installations.Unseen(key); wait > 0 {
			s.Wake(wait)
			return kit.ErrStop
		}
	}
	return nil
}

// applyChildren deletes the sub-installations that the blueprint does not have any more, waits until they are gone, and then
// creates and updates the others, producers first; those whose Targets may still be in use have to wait for deleteLateOrphans. Each gets the running job together with its spec.
func (r *Reconciler) applyChildren(ctx context.Context, s *scope) error {
	templates := relations.ProducersFirst(s.plan.subinstallations)
	active, err := s.pairs(templates)
	if err != nil {
		return err
	}
	if err := r.deleteOrphans(ctx, s, s.orphans(active, templates)); err != nil {
		return err
	}
	for i := range active {
		if err := r.applyChild(ctx, s, &templates[i], active[i].ObjectName); err != nil {
			return err
		}
	}
	return nil
}

// deleteChild deletes a sub-installation, which takes the running job from this one. After a failed deletion the annotation with the job
// starts the next. An orphan does not wait for consumers of its exports: the blueprint says that it is not wanted.
func (r *Reconciler) deleteChild(ctx context.Context, s *scope, child *v1alpha1.Installation, orphan bool) error {
	job, yes := s.inst.Status.JobID, "true"
	change := kit.MetadataChange{Annotations: map[string]*string{}}
	if jobs.DeleteFailed(child) && child.Status.JobIDFinished != job || kit.IsHeldBack(child, s.inst) {
		change.Annotations[v1alpha1.JobAnnotation] = &job
	}
	if orphan {
		change.Annotations[v1alpha1.DeleteIgnoreSuccessorsAnnotation] = &yes
	}
	if !s.inst.DeletionTimestamp.IsZero() && orphans(s.inst) {
		change.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = &yes
	}
	before := child.ResourceVersion
	if err := kit.PatchMetadata(ctx, r.Client, child, change); err != nil {
		return client.IgnoreNotFound(err)
	}
	if child.ResourceVersion != before {
		r.installations.Wrote(child)
	}
	if !child.DeletionTimestamp.IsZero() {
		return nil
	}
	return kit.DeleteLive(ctx, r.Live, r.Client, child, &r.installations)
}

func (r *Reconciler) applyChild(ctx context.Context, s *scope, template *model.InstallationTemplate, name string) error {
	existing := s.children[name]
	if existing != nil && !existing.DeletionTimestamp.IsZero() {
		return r.deleteOrphans(ctx, s, []*v1alpha1.Installation{existing})
	}
	child, err := describeChild(s, template, name)
	if err != nil {
		return err
	}
	if existing == nil {
		return r.createChild(ctx, s, child)
	}
	return r.updateChild(ctx, s, existing, child)
}

func (r *Reconciler) createChild(ctx context.Context, s *scope, child *v1alpha1.Installation) error {
	err := r.Create(ctx, child)
	if apierrors.IsAlreadyExists(err) {
		existing := &v1alpha1.Installation{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(child), existing); err != nil {
			return err
		}
		return r.meetExisting(ctx, s, existing, child)
	}
	if kit.IsRefusedForGood(err) {
		name := child.Annotations[v1alpha1.SubinstallationNameAnnotation]
		return kit.Stall(jobs.Operation, "InvalidSubinstallation", "sub-installation %q of the blueprint cannot be created: %w", name, err)
	}
	if err != nil {
		return err
	}
	r.installations.Created(child)
	s.children[child.Name] = child
	return nil
}

// meetExisting handles an Installation with the name of a sub-installation that the cache does not show.
func (r *Reconciler) meetExisting(ctx context.Context, s *scope, existing, wanted *v1alpha1.Installation) error {
	if owner := metav1.GetControllerOf(existing); owner != nil && owner.Name == s.inst.Name && owner.UID != s.inst.UID {
		return kit.Wait(jobs.Operation, "SubinstallationDeleting", "waiting for sub-installation %s of a former Installation with the same name to be "+
			"deleted", wanted.Name)
	}
	if !metav1.IsControlledBy(existing, s.inst) {
		return kit.Stall(jobs.Operation, "InstallationExists",
			"Installation %s/%s exists and does not belong to this one; delete or rename it%s", wanted.Namespace, wanted.Name, keepingAdvice)
	}
	if !existing.DeletionTimestamp.IsZero() {
		return kit.Again(jobs.Operation, "SubinstallationDeleting", "sub-installation %s is being deleted before it is created again", wanted.Name)
	}
	return r.updateChild(ctx, s, existing, wanted)
}

// updateChild replaces spec, labels and annotations of a sub-installation; operations that a person set on it stay. One that has the job
// already keeps the spec that came with it.
func (r *Reconciler) updateChild(ctx context.Context, s *scope, existing, wanted *v1alpha1.Installation) error {
	if s.hasJob(existing) {
		s.children[existing.Name] = existing
		return s.compare(existing.Spec, wanted.Spec)
	}
	if err := awaitInterrupted(existing, "sub-installation"); err != nil {
		return err
	}
	before, job := existing.DeepCopy(), existing.Annotations[v1alpha1.JobAnnotation]
	existing.Spec, existing.Labels = wanted.Spec, wanted.Labels
	for key, value := range wanted.Annotations {
		metav1.SetMetaDataAnnotation(&existing.ObjectMeta, key, value)
	}
	kit.Bequeath(wanted, existing)
	if jobs.IsInterruptedIdle(existing) {
		delete(existing.Annotations, v1alpha1.OperationAnnotation)
	}
	sameSpec, err := kit.SameJSON(before.Spec, existing.Spec)
	if err != nil {
		return err
	}
	byStatus := sameSpec && existing.Status.IsIdle()
	if byStatus {
		existing.Annotations[v1alpha1.JobAnnotation] = job
	}
	if err := r.writeChild(ctx, before, existing); err != nil {
		return err
	}
	s.children[existing.Name] = existing
	if byStatus {
		return handOver(ctx, r.Client, s, existing, &r.installations)
	}
	return nil
}

// writeChild updates a sub-installation that is not as it was.
func (r *Reconciler) writeChild(ctx context.Context, before, child *v1alpha1.Installation) error {
	same, err := kit.SameJSON(before, child)
	if err != nil || same {
		return err
	}
	if err := r.Update(ctx, child); err != nil {
		return err
	}
	r.installations.Wrote(child)
	return nil
}

// awaitInterrupted waits while a child has not ended the job that it is to end by an interruption. A parent that is interrupted before all children
// have its job ends without them, and the interruption would end the next job in place of that one.
func awaitInterrupted(child kit.JobObject, kind string) error {
	if child.Job().IsIdle() || child.GetAnnotations()[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt {
		return nil
	}
	return kit.Wait(jobs.Operation, "ChildInterrupted", "waiting for %s %s to end its interrupted job", kind, child.GetName())
}

// handOver gives a child that keeps its spec the running job by its status: an annotation would change no generation, so that until the child
// takes the job up it would look as if it had ended it. Written learns of the write.
func handOver(ctx context.Context, c client.Client, s *scope, child kit.JobObject, written *kit.Consistency) error {
	kit.KeepValidConditions(child)
	child.Job().JobID = s.inst.Status.JobID
	kit.Progress(child, meta.ProgressingReason, "a job of the parent begins")
	if err := c.Status().Update(ctx, child); err != nil {
		return err
	}
	written.Wrote(child)
	return nil
}

// describeChild makes the sub-installation of a template. It inherits context and component of its parent.
func describeChild(s *scope, template *model.InstallationTemplate, name string) (*v1alpha1.Installation, error) {
	blueprint, descriptor, err := s.ChildBlueprint(s.inst, template)
	if err != nil {
		return nil, kit.Stall(jobs.RenderOperation, "InvalidBlueprintRef", "sub-installation %q: %w", template.Name, err)
	}
	child := &v1alpha1.Installation{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.inst.Namespace, Finalizers: []string{v1alpha1.Finalizer},
			Labels: map[string]string{v1alpha1.EncompassedByLabel: s.inst.Name},
			Annotations: map[string]string{
				v1alpha1.SubinstallationNameAnnotation: template.Name, v1alpha1.JobAnnotation: s.inst.Status.JobID,
			},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(s.inst, v1alpha1.GroupVersion.WithKind("Installation")),
			},
		},
		Spec: v1alpha1.InstallationSpec{
			Context: s.inst.ContextName(), ComponentDescriptor: descriptor, Blueprint: *blueprint,
			Imports: template.Imports, ImportDataMappings: template.ImportDataMappings,
			Exports: template.Exports, ExportDataMappings: template.ExportDataMappings, Optimization: template.Optimization,
		},
	}
	kit.Bequeath(s.inst, child)
	if shard, ok := s.inst.Labels[kit.ShardLabel]; ok {
		child.Labels[kit.ShardLabel] = shard
	}
	return child, nil
}

// observeChildren waits until all sub-installations have ended the job, and names those that failed with their causes.
func (r *Reconciler) observeChildren(ctx context.Context, s *scope) error {
	if s.inst.Status.SubInstCache == nil {
		return nil
	}
	var failed []string
	for _, pair := range s.inst.Status.SubInstCache.ActiveSubs {
		child := s.children[pair.ObjectName]
		if child == nil {
			failed = append(failed, fmt.Sprintf("sub-installation %s is gone", pair.ObjectName))
			continue
		}
		if jobs.LeavesJob(child, s.inst.Status.JobID) {
			failed = append(failed, child.Name+": "+jobs.LeavesJobMessage)
			continue
		}
		if child.Status.JobIDFinished != s.inst.Status.JobID {
			return s.awaitChildren()
		}
		if child.Status.Phase != v1alpha1.PhaseSucceeded {
			failed = append(failed, fmt.Sprintf("%s: %s", child.Name, jobs.LastMessage(child.Status.LastError)))
		}
	}
	if s.execution != nil && s.execution.Status.JobIDFinished != s.inst.Status.JobID || len(failed) == 0 {
		return nil
	}
	heals, err := r.healsBelow(ctx, s.inst)
	if err != nil {
		return err
	}
	return &kit.Failure{
		Kind: kit.Stalled, Operation: "buildErrorIfFailedChild", Reason: jobs.ReasonChildrenFailed,
		Err:   fmt.Errorf("children failed: %s", strings.Join(failed, "; ")),
		Heals: heals && jobs.JudgeExecution(s.execution, s.inst.Status.JobID) == nil,
	}
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

// awaitDeletedChildren ends the deletion job when children have ended it and are still there, and waits while any is at work.
func (r *Reconciler) awaitDeletedChildren(_ context.Context, s *scope) error {
	var failed []string
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		child := s.children[name]
		if child.Status.JobIDFinished != s.inst.Status.JobID {
			return s.awaitChildren()
		}
		failed = append(failed, fmt.Sprintf("%s: %s", child.Name, jobs.LastMessage(child.Status.LastError)))
	}
	if s.execution != nil && s.execution.Status.JobIDFinished != s.inst.Status.JobID {
		return s.awaitChildren()
	}
	if s.execution != nil {
		failed = append(failed, jobs.ExecutionFailure(s.execution).Error())
	}
	if len(failed) == 0 {
		return nil
	}
	return &kit.Failure{
		Kind: kit.Stalled, Operation: "DeleteChildren", Reason: "ChildrenNotDeleted",
		Err: fmt.Errorf("not all sub objects were deleted: %s", strings.Join(failed, "; ")),
	}
}

// markApplied records that all children have their specs. Without sub-installations the Execution itself shows it, unless a failure on the
// way has to be taken back. Without any children it records nothing: nothing is waited for, so this reconciliation says how the job goes on, and
// whatever is written here as well would begin the next one.
func (r *Reconciler) markApplied(ctx context.Context, s *scope) error {
	if s.inst.Status.ExecutionReference == nil && s.inst.Status.SubInstCache == nil {
		return nil
	}
	if s.inst.Status.Phase == v1alpha1.PhaseProgressing && jobs.IsUnfinished(s.inst.Status.LastError) {
		return nil
	}
	kit.SetPhase(s.inst.Job(), v1alpha1.PhaseProgressing, s.now)
	s.inst.Status.LastError = kit.NewError(s.inst.Status.LastError, jobs.Unfinished, s.now)
	kit.Progress(s.inst, meta.ProgressingReason, workingMessage)
	return r.writeStatus(ctx, s)
}
