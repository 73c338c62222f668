// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
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
			return protocol.ErrStop
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
			s.wake(wait)
			return protocol.ErrStop
		}
	}
	return nil
}

// applyChildren deletes the sub-installations that the blueprint does not have any more, waits until they are gone, and then
// creates and updates the others, producers first; those whose Targets may still be in use have to wait for deleteLateOrphans. Each gets the running job together with its spec.
func (r *Reconciler) applyChildren(ctx context.Context, s *scope) error {
	templates := relations.ProducersFirst(s.subinstallations)
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
	if protocol.IsRefusedForGood(err) {
		name := child.Annotations[v1alpha1.SubinstallationNameAnnotation]
		return protocol.Stall(jobs.Operation, "InvalidSubinstallation", "sub-installation %q of the blueprint cannot be created: %w", name, err)
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
	if s.isOfFormer(existing) {
		return awaitFormer("SubinstallationDeleting", "sub-installation", existing)
	}
	if !metav1.IsControlledBy(existing, s.inst) {
		return protocol.Stall(jobs.Operation, "InstallationExists",
			"Installation %s/%s exists and does not belong to this one; delete or rename it%s", wanted.Namespace, wanted.Name, keepingAdvice)
	}
	if !existing.DeletionTimestamp.IsZero() {
		return protocol.Again(jobs.Operation, "SubinstallationDeleting", "sub-installation %s is being deleted before it is created again", wanted.Name)
	}
	return r.updateChild(ctx, s, existing, wanted)
}

// updateChild replaces spec, labels and annotations of a sub-installation; operations that a person set on it stay. One that has the job
// already keeps the spec that came with it.
func (r *Reconciler) updateChild(ctx context.Context, s *scope, existing, wanted *v1alpha1.Installation) error {
	if s.hasJob(existing) {
		s.children[existing.Name] = existing
		same, err := storage.SameJSON(existing.Spec, wanted.Spec)
		if err == nil && !same {
			s.noteChange()
		}
		return err
	}
	if err := awaitInterrupted(existing, "sub-installation"); err != nil {
		return err
	}
	before, job := existing.DeepCopy(), existing.Annotations[v1alpha1.JobAnnotation]
	existing.Spec, existing.Labels = wanted.Spec, wanted.Labels
	for key, value := range wanted.Annotations {
		metav1.SetMetaDataAnnotation(&existing.ObjectMeta, key, value)
	}
	protocol.SetInherited(wanted, existing)
	if jobs.IsInterruptedIdle(existing) {
		delete(existing.Annotations, v1alpha1.OperationAnnotation)
	}
	sameSpec, err := storage.SameJSON(before.Spec, existing.Spec)
	if err != nil {
		return err
	}
	byStatus := sameSpec && existing.Status.IsIdle()
	if byStatus {
		existing.Annotations[v1alpha1.JobAnnotation] = job
	}
	if same, err := storage.SameJSON(before, existing); err != nil {
		return err
	} else if !same {
		if err := r.Update(ctx, existing); err != nil {
			return err
		}
		r.installations.Wrote(existing)
	}
	s.children[existing.Name] = existing
	if byStatus {
		return r.handOver(ctx, s, existing)
	}
	return nil
}

// describeChild makes the sub-installation of a template. It inherits context and component of its parent.
func describeChild(s *scope, template *model.InstallationTemplate, name string) (*v1alpha1.Installation, error) {
	blueprint, descriptor, err := s.ChildBlueprint(s.inst, template)
	if err != nil {
		return nil, protocol.Stall(jobs.RenderOperation, "InvalidBlueprintRef", "sub-installation %q: %w", template.Name, err)
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
	protocol.SetInherited(s.inst, child)
	if shard, ok := s.inst.Labels[protocol.ShardLabel]; ok {
		child.Labels[protocol.ShardLabel] = shard
	}
	return child, nil
}

// findExecution reads the Execution of the Installation: it has the same name. It stops when the cache does not yet show
// what was written to it last. One of this name that somebody else made is never touched.
func (r *Reconciler) findExecution(ctx context.Context, s *scope) error {
	key := client.ObjectKeyFromObject(s.inst)
	execution := &v1alpha1.Execution{}
	err := r.Get(ctx, key, execution)
	if apierrors.IsNotFound(err) {
		if wait := r.executions.Unseen(key); wait > 0 {
			s.wake(wait)
			return protocol.ErrStop
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(execution, s.inst) {
		s.foreign = execution
		return nil
	}
	if r.executions.Stale(execution) {
		return protocol.ErrStop
	}
	s.execution = execution
	return nil
}

// applyExecution writes the spec of the running job, and with it the job, into the Execution. Without deploy items there
// is no Execution, but one that exists is emptied so that it cleans up.
func (r *Reconciler) applyExecution(ctx context.Context, s *scope) error {
	if s.execution == nil && len(s.deployItems) == 0 {
		return nil
	}
	spec, err := storage.Pack(s.inst.ContextName(), s.deployItems)
	if err != nil {
		return err
	}
	spec.SensitiveExports = s.hasSensitiveExports()
	if s.execution == nil {
		return r.createExecution(ctx, s, spec)
	}
	return r.updateExecution(ctx, s, spec)
}

// reasonExecutionExists says that somebody else's Execution has the name of ours.
const reasonExecutionExists = "ExecutionExists"

// keepingAdvice says how to delete a child that a deletion of its parent with --cascade=orphan has left, so that the next job takes over what it
// had deployed.
const keepingAdvice = ". If it is left from a deletion with --cascade=orphan, annotate it " + v1alpha1.DeleteWithoutUninstallAnnotation +
	"=true before you delete it: what it deployed stays, and the next job takes it over"

func (r *Reconciler) createExecution(ctx context.Context, s *scope, spec v1alpha1.ExecutionSpec) error {
	if s.foreign != nil && s.isOfFormer(s.foreign) {
		return awaitFormer("ExecutionDeleting", "Execution", s.foreign)
	}
	if s.foreign != nil {
		return protocol.Stall(jobs.Operation, reasonExecutionExists, "Execution %s/%s exists and does not belong to this installation; delete or rename it%s",
			s.inst.Namespace, s.inst.Name, keepingAdvice)
	}
	execution := &v1alpha1.Execution{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.inst.Name, Namespace: s.inst.Namespace, Finalizers: []string{v1alpha1.Finalizer},
			Annotations: map[string]string{v1alpha1.JobAnnotation: s.inst.Status.JobID},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(s.inst, v1alpha1.GroupVersion.WithKind("Installation")),
			},
		},
		Spec: spec,
	}
	protocol.SetInherited(s.inst, execution)
	if shard, ok := s.inst.Labels[protocol.ShardLabel]; ok {
		execution.Labels = map[string]string{protocol.ShardLabel: shard}
	}
	if err := r.Create(ctx, execution); err != nil {
		return err
	}
	r.executions.Created(execution)
	s.execution = execution
	s.referToExecution()
	return nil
}

// referToExecution names the Execution in the status.
func (s *scope) referToExecution() {
	s.inst.Status.ExecutionReference = &v1alpha1.ObjectReference{Name: s.inst.Name, Namespace: s.inst.Namespace}
}

// updateExecution writes the spec together with the job. One that keeps its spec gets the job by its status, and so does one whose deletion
// has failed, to try it again; one in deletion gets no spec. An Execution that has the job already keeps the spec that came with it.
func (r *Reconciler) updateExecution(ctx context.Context, s *scope, spec v1alpha1.ExecutionSpec) error {
	same, err := sameItems(s.execution.Spec, spec)
	if err != nil {
		return err
	}
	if s.hasJob(s.execution) {
		if !same {
			s.noteChange()
		}
		return nil
	}
	if err := awaitInterrupted(s.execution, "Execution"); err != nil {
		return err
	}
	if s.execution.DeletionTimestamp.IsZero() && !same {
		err = r.respecifyExecution(ctx, s, spec)
	} else {
		err = r.annotateExecution(ctx, s)
	}
	if err != nil || s.hasJob(s.execution) {
		return err
	}
	return r.handOver(ctx, s, s.execution)
}

func (r *Reconciler) respecifyExecution(ctx context.Context, s *scope, spec v1alpha1.ExecutionSpec) error {
	s.execution.Spec = spec
	protocol.SetInherited(s.inst, s.execution)
	if jobs.IsInterruptedIdle(s.execution) {
		delete(s.execution.Annotations, v1alpha1.OperationAnnotation)
	}
	s.execution.Annotations[v1alpha1.JobAnnotation] = s.inst.Status.JobID
	if err := r.Update(ctx, s.execution); err != nil {
		return err
	}
	r.executions.Wrote(s.execution)
	return nil
}

// annotateExecution passes annotations on. The deletion that is at work is left alone: its end is waited for.
func (r *Reconciler) annotateExecution(ctx context.Context, s *scope) error {
	change := protocol.MetadataChange{Annotations: protocol.Inherit(s.inst)}
	if !s.execution.DeletionTimestamp.IsZero() && !jobs.DeleteFailed(s.execution) {
		change.Annotations[v1alpha1.JobAnnotation] = &s.inst.Status.JobID
	}
	if jobs.IsInterruptedIdle(s.execution) {
		change.Annotations[v1alpha1.OperationAnnotation] = nil
	}
	return r.patch(ctx, s.execution, change)
}

// sameItems reports whether two specs of an Execution say the same; deploy items may be compressed in one and readable in the other, as
// Gardener Landscaper compresses all. What cannot be read is not the same.
func sameItems(has, wanted v1alpha1.ExecutionSpec) (bool, error) {
	present, err := storage.Unpack(&has)
	if err != nil {
		return false, nil
	}
	items, err := storage.Unpack(&wanted)
	if err != nil {
		return false, err
	}
	has.DeployItems, has.DeployItemsCompressed = present, nil
	wanted.DeployItems, wanted.DeployItemsCompressed = items, nil
	return storage.SameJSON(has, wanted)
}

// pairs connects templates with sub-installations. The annotation of a sub-installation says which template it was made from, whatever its
// name is; templates without one get the name of the sub-installation to create. It fails when a sub-installation does not say what it is.
func (s *scope) pairs(templates []model.InstallationTemplate) ([]v1alpha1.SubNamePair, error) {
	made := map[string]*v1alpha1.Installation{}
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		template := s.children[name].Annotations[v1alpha1.SubinstallationNameAnnotation]
		if former := made[template]; former == nil || s.comesBefore(s.children[name], former) {
			made[template] = s.children[name]
		}
	}
	pairs, own := make([]v1alpha1.SubNamePair, 0, len(templates)), map[string]bool{}
	for i := range templates {
		name := storage.ShortChildName(s.inst.Name, templates[i].Name, validation.MaxInstallationNameLength)
		own[name] = true
		if child := made[templates[i].Name]; child != nil {
			name = child.Name
		}
		pairs = append(pairs, v1alpha1.SubNamePair{SpecName: templates[i].Name, ObjectName: name})
	}
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		if s.children[name].Annotations[v1alpha1.SubinstallationNameAnnotation] == "" && !own[name] {
			return nil, protocol.Stall(jobs.Operation, "DanglingInstallation", "Installation %s/%s belongs to this one but has no annotation %s; delete it, "+
				"or annotate it with the name of a sub-installation of the blueprint", s.inst.Namespace, name, v1alpha1.SubinstallationNameAnnotation)
		}
	}
	return pairs, nil
}

// comesBefore reports which of two sub-installations counts that say they were made from one template: one that is not being deleted comes first,
// then one that the status lists, then the oldest.
func (s *scope) comesBefore(a, b *v1alpha1.Installation) bool {
	lists := func(child *v1alpha1.Installation) bool {
		cache := s.inst.Status.SubInstCache
		return cache != nil && slices.ContainsFunc(cache.ActiveSubs, func(pair v1alpha1.SubNamePair) bool { return pair.ObjectName == child.Name })
	}
	switch {
	case a.DeletionTimestamp.IsZero() != b.DeletionTimestamp.IsZero():
		return a.DeletionTimestamp.IsZero()
	case lists(a) != lists(b):
		return lists(a)
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// isOfFormer reports whether an object belongs to an Installation that had the name of this one and is gone. The garbage collector deletes it.
func (s *scope) isOfFormer(object client.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.Kind == "Installation" && owner.Name == s.inst.Name && owner.UID != s.inst.UID
}

// awaitFormer waits for the end of a child of a former Installation. One whose deletion has failed waits for a person, so the message says why it
// failed and how to try again.
func awaitFormer(reason, kind string, child protocol.JobObject) error {
	job := child.Job()
	if job.Phase != v1alpha1.PhaseDeleteFailed || !job.IsIdle() {
		return protocol.Wait(jobs.Operation, reason, "waiting for %s %s of a former Installation with the same name to be deleted", kind, child.GetName())
	}
	cause := "its status does not say why"
	if job.LastError != nil {
		cause = job.LastError.Message
	}
	return protocol.Wait(jobs.Operation, reason, "%s %s of a former Installation with the same name could not be deleted: %s; remove the cause and annotate "+
		"it %s=%s", kind, child.GetName(), cause, v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
}
