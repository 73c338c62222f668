// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// applyItems creates the DeployItems that are missing and updates those that the running job has not started yet.
func (r *Reconciler) applyItems(ctx context.Context, s *scope) error {
	for i := range s.templates {
		template := &s.templates[i]
		item := s.items[template.Name]
		if item == nil {
			if err := r.createItem(ctx, s, template); err != nil {
				return err
			}
			continue
		}
		if item.Status.JobID == s.execution.Status.JobID {
			continue
		}
		if err := r.updateItem(ctx, s, item, template); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) createItem(ctx context.Context, s *scope, template *v1alpha1.DeployItemTemplate) error {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
		Name: kit.ChildName(s.execution.Name, template.Name), Namespace: s.execution.Namespace,
		Finalizers: []string{v1alpha1.Finalizer},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(s.execution, v1alpha1.GroupVersion.WithKind("Execution")),
		},
	}}
	describe(s.execution, item, template)
	if err := r.Create(ctx, item); err != nil {
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		return r.meetExisting(ctx, s, item)
	}
	r.items.Created(item)
	s.items[template.Name] = item
	return nil
}

// meetExisting handles an item that exists although the cache does not show it: an own one appears with the next event, one
// in deletion makes room soon, a foreign one needs a person.
func (r *Reconciler) meetExisting(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(item), item)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(item, s.execution) {
		return kit.Stall(operation, "DeployItemExists",
			"DeployItem %s/%s exists and does not belong to execution %s; delete it", item.Namespace, item.Name, s.execution.Name)
	}
	r.items.Wrote(item)
	return kit.Again(operation, "DeployItemExists", "DeployItem %s/%s is not visible yet", item.Namespace, item.Name)
}

func (r *Reconciler) updateItem(ctx context.Context, s *scope, item *v1alpha1.DeployItem, template *v1alpha1.DeployItemTemplate) error {
	if !item.DeletionTimestamp.IsZero() {
		return kit.Wait(operation, "DeployItemDeleting", "waiting for DeployItem %s/%s to be deleted before it is created again",
			item.Namespace, item.Name)
	}
	if item.Spec.Type != template.Type {
		return r.replaceItem(ctx, item)
	}
	before := item.DeepCopy()
	describe(s.execution, item, template)
	same, err := kit.SameJSON(before, item)
	if err != nil || same {
		return err
	}
	if err := r.Update(ctx, item); err != nil {
		return err
	}
	r.items.Wrote(item)
	return nil
}

// replaceItem deletes an item whose type changed: the new type needs another deployer, and the type of an item is
// immutable.
func (r *Reconciler) replaceItem(ctx context.Context, item *v1alpha1.DeployItem) error {
	if err := kit.DeleteLive(ctx, r.Live, r.Client, item, &r.items); err != nil {
		return err
	}
	return kit.Wait(operation, "DeployItemDeleting", "waiting for DeployItem %s/%s to be deleted because its type changed",
		item.Namespace, item.Name)
}

// describe writes a template into an item. Labels are those of the template and ours, no others.
func describe(execution *v1alpha1.Execution, item *v1alpha1.DeployItem, template *v1alpha1.DeployItemTemplate) {
	item.Labels = map[string]string{}
	maps.Copy(item.Labels, template.Labels)
	item.Labels[v1alpha1.ExecutionManagedByLabel] = execution.Name
	item.Labels[v1alpha1.ExecutionManagedNameLabel] = template.Name
	if shard, ok := execution.Labels[kit.ShardLabel]; ok {
		item.Labels[kit.ShardLabel] = shard
	}
	kit.Bequeath(execution, item)
	item.Annotations[v1alpha1.DeployerTypeAnnotation] = template.Type
	item.Annotations[v1alpha1.DeployerTargetNameAnnotation] = v1alpha1.NoTargetName
	item.Annotations[v1alpha1.DependsOnAnnotation] = strings.Join(template.DependsOn, ",")
	item.Spec = v1alpha1.DeployItemSpec{
		Type: template.Type, Context: execution.Spec.Context, Configuration: template.Configuration,
		Timeout: template.Timeout, UpdateOnChangeOnly: template.UpdateOnChangeOnly, OnDelete: template.OnDelete,
	}
	if template.Target != nil {
		item.Annotations[v1alpha1.DeployerTargetNameAnnotation] = template.Target.Name
		item.Spec.Target = &v1alpha1.DeployItemTarget{Name: template.Target.Name, Namespace: execution.Namespace}
	}
}

// deleteOrphans deletes items without template and waits until they are gone: only then are others started.
func (r *Reconciler) deleteOrphans(ctx context.Context, s *scope) error {
	for _, item := range s.orphans {
		if err := r.deleteItem(ctx, s, item); err != nil {
			return err
		}
	}
	for _, item := range s.orphans {
		if ended(item, s.execution.Status.JobID) {
			s.fail(itemFailure(item))
			return kit.ErrStop
		}
	}
	if len(s.orphans) > 0 {
		return kit.ErrStop
	}
	return nil
}

// deleteItem deletes an item and hands it the running job, so that its deployer uninstalls and lets it go.
func (r *Reconciler) deleteItem(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	if item.DeletionTimestamp.IsZero() {
		if err := kit.DeleteLive(ctx, r.Live, r.Client, item, &r.items); err != nil {
			return err
		}
		return nil
	}
	if s.execution.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] == "true" {
		return client.IgnoreNotFound(kit.PatchMetadata(ctx, r.Client, item, kit.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}))
	}
	return r.handOver(ctx, s, item)
}
