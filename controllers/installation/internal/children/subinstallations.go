// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// FindChildren reads the sub-installations from the index; those of a former Installation with the same name are none. It stops while the
// cache is older than what was written to them last.
func (k *Keeper) FindChildren(ctx context.Context, f *Family) error {
	list := &v1alpha1.InstallationList{}
	err := k.List(ctx, list, client.InNamespace(f.Inst.Namespace), client.MatchingFields{relations.ParentIndex: f.Inst.Name})
	if err != nil {
		return err
	}
	f.Children = map[string]*v1alpha1.Installation{}
	for i := range list.Items {
		child := &list.Items[i]
		if !metav1.IsControlledBy(child, f.Inst) || f.isForeign(child) {
			continue
		}
		if k.Installations.Stale(child) {
			return kit.ErrStop
		}
		f.Children[child.Name] = child
	}
	return k.awaitCreatedChildren(f)
}

// isForeign reports whether a deletion has nothing to do with an Installation that names this one as its owner: this one has never made it, and
// it may well own this one. The garbage collector deletes it afterwards.
func (f *Family) isForeign(child *v1alpha1.Installation) bool {
	return !f.Inst.DeletionTimestamp.IsZero() && !f.Inst.Status.Lists(child.Name)
}

// awaitCreatedChildren stops while the cache does not show a sub-installation that this job has created.
func (k *Keeper) awaitCreatedChildren(f *Family) error {
	if f.Inst.Status.SubInstCache == nil {
		return nil
	}
	for _, pair := range f.Inst.Status.SubInstCache.ActiveSubs {
		key := client.ObjectKey{Namespace: f.Inst.Namespace, Name: pair.ObjectName}
		if f.Children[pair.ObjectName] != nil {
			continue
		}
		if wait := k.Installations.Unseen(key); wait > 0 {
			f.Wake(wait)
			return kit.ErrStop
		}
	}
	return nil
}

// ApplyChildren deletes the sub-installations that the blueprint does not have any more, waits until they are gone, and then
// creates and updates the others, producers first; those whose Targets may still be in use have to wait for DeleteLateOrphans. Each gets the running job together with its spec.
func (k *Keeper) ApplyChildren(ctx context.Context, p *plan.Plan, f *Family) error {
	templates := relations.ProducersFirst(p.Subinstallations)
	active, err := f.pairs(templates)
	if err != nil {
		return err
	}
	if err := k.deleteOrphans(ctx, f, f.orphans(active, templates)); err != nil {
		return err
	}
	for i := range active {
		if err := k.applyChild(ctx, p, f, &templates[i], active[i].ObjectName); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keeper) applyChild(ctx context.Context, p *plan.Plan, f *Family, template *model.InstallationTemplate, name string) error {
	existing := f.Children[name]
	if existing != nil && !existing.DeletionTimestamp.IsZero() {
		return k.deleteOrphans(ctx, f, []*v1alpha1.Installation{existing})
	}
	child, err := describeChild(p, f, template, name)
	if err != nil {
		return err
	}
	if existing == nil {
		return k.createChild(ctx, f, child)
	}
	return k.updateChild(ctx, f, existing, child)
}

func (k *Keeper) createChild(ctx context.Context, f *Family, child *v1alpha1.Installation) error {
	err := k.Create(ctx, child)
	if apierrors.IsAlreadyExists(err) {
		existing := &v1alpha1.Installation{}
		if err := k.Live.Get(ctx, client.ObjectKeyFromObject(child), existing); err != nil {
			return err
		}
		return k.meetExisting(ctx, f, existing, child)
	}
	if kit.IsRefusedForGood(err) {
		name := child.Annotations[v1alpha1.SubinstallationNameAnnotation]
		return kit.Stall(jobs.Operation, "InvalidSubinstallation", "sub-installation %q of the blueprint cannot be created: %w", name, err)
	}
	if err != nil {
		return err
	}
	k.Installations.Created(child)
	f.Children[child.Name] = child
	return nil
}

// meetExisting handles an Installation with the name of a sub-installation that the cache does not show.
func (k *Keeper) meetExisting(ctx context.Context, f *Family, existing, wanted *v1alpha1.Installation) error {
	if f.isOfFormer(existing) {
		return awaitFormer("SubinstallationDeleting", "sub-installation", existing)
	}
	if !metav1.IsControlledBy(existing, f.Inst) {
		return kit.Stall(jobs.Operation, "InstallationExists",
			"Installation %s/%s exists and does not belong to this one; delete or rename it%s", wanted.Namespace, wanted.Name, keepingAdvice)
	}
	if !existing.DeletionTimestamp.IsZero() {
		return kit.Again(jobs.Operation, "SubinstallationDeleting", "sub-installation %s is being deleted before it is created again", wanted.Name)
	}
	return k.updateChild(ctx, f, existing, wanted)
}

// updateChild replaces spec, labels and annotations of a sub-installation; operations that a person set on it stay. One that has the job
// already keeps the spec that came with it.
func (k *Keeper) updateChild(ctx context.Context, f *Family, existing, wanted *v1alpha1.Installation) error {
	if f.HasJob(existing) {
		f.Children[existing.Name] = existing
		return f.compare(existing.Spec, wanted.Spec)
	}
	if err := awaitInterrupted(existing, "sub-installation"); err != nil {
		return err
	}
	before, job := existing.DeepCopy(), existing.Annotations[v1alpha1.JobAnnotation]
	existing.Spec, existing.Labels = wanted.Spec, wanted.Labels
	for key, value := range wanted.Annotations {
		metav1.SetMetaDataAnnotation(&existing.ObjectMeta, key, value)
	}
	kit.SetInherited(wanted, existing)
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
	if err := k.writeChild(ctx, before, existing); err != nil {
		return err
	}
	f.Children[existing.Name] = existing
	if byStatus {
		return handOver(ctx, k.Client, f, existing, k.Installations)
	}
	return nil
}

// writeChild updates a sub-installation that is not as it was.
func (k *Keeper) writeChild(ctx context.Context, before, child *v1alpha1.Installation) error {
	same, err := kit.SameJSON(before, child)
	if err != nil || same {
		return err
	}
	if err := k.Update(ctx, child); err != nil {
		return err
	}
	k.Installations.Wrote(child)
	return nil
}

// describeChild makes the sub-installation of a template. It inherits context and component of its parent.
func describeChild(p *plan.Plan, f *Family, template *model.InstallationTemplate, name string) (*v1alpha1.Installation, error) {
	blueprint, descriptor, err := p.ChildBlueprint(f.Inst, template)
	if err != nil {
		return nil, kit.Stall(jobs.RenderOperation, "InvalidBlueprintRef", "sub-installation %q: %w", template.Name, err)
	}
	child := &v1alpha1.Installation{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: f.Inst.Namespace, Finalizers: []string{v1alpha1.Finalizer},
			Labels: map[string]string{v1alpha1.EncompassedByLabel: f.Inst.Name},
			Annotations: map[string]string{
				v1alpha1.SubinstallationNameAnnotation: template.Name, v1alpha1.JobAnnotation: f.Inst.Status.JobID,
			},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(f.Inst, v1alpha1.GroupVersion.WithKind("Installation")),
			},
		},
		Spec: v1alpha1.InstallationSpec{
			Context: f.Inst.ContextName(), ComponentDescriptor: descriptor, Blueprint: *blueprint,
			Imports: template.Imports, ImportDataMappings: template.ImportDataMappings,
			Exports: template.Exports, ExportDataMappings: template.ExportDataMappings, Optimization: template.Optimization,
		},
	}
	kit.SetInherited(f.Inst, child)
	if shard, ok := f.Inst.Labels[kit.ShardLabel]; ok {
		child.Labels[kit.ShardLabel] = shard
	}
	return child, nil
}
