// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// applyItems creates the DeployItems that are missing and updates those that the running job has not started yet. Where an orphan is in the
// place of a template its item is created once that is gone.
func (r *Reconciler) applyItems(ctx context.Context, s *scope) error {
	for i := range s.templates {
		template := &s.templates[i]
		item := s.items[template.Name]
		if item == nil && s.isOccupied(template) {
			continue
		}
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

func (s *scope) isOccupied(template *v1alpha1.DeployItemTemplate) bool {
	return slices.ContainsFunc(s.orphans, func(orphan *v1alpha1.DeployItem) bool {
		return templateOf(orphan) == template.Name || orphan.Name == storage.ChildName(s.execution.Name, template.Name)
	})
}

func (r *Reconciler) createItem(ctx context.Context, s *scope, template *v1alpha1.DeployItemTemplate) error {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
		Name: storage.ChildName(s.execution.Name, template.Name), Namespace: s.execution.Namespace,
		Finalizers: []string{v1alpha1.Finalizer},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(s.execution, v1alpha1.GroupVersion.WithKind("Execution")),
		},
	}}
	if err := describe(ctx, r.Client, s.execution, item, template); err != nil {
		return err
	}
	if err := r.Create(ctx, item); err != nil {
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		return r.meetExisting(ctx, s, template, client.ObjectKeyFromObject(item), err)
	}
	r.items.Created(item)
	s.items[template.Name] = item
	return nil
}

// meetExisting handles an item that exists although the cache does not show it. An own one is taken as it was read live, and
// one that has to go becomes an orphan; one that is gone again meanwhile is created in the next reconciliation, as the conflict that is
// returned says; a foreign one needs a person.
func (r *Reconciler) meetExisting(ctx context.Context, s *scope, template *v1alpha1.DeployItemTemplate, key client.ObjectKey, exists error) error {
	item := &v1alpha1.DeployItem{}
	err := r.Live.Get(ctx, key, item)
	if apierrors.IsNotFound(err) {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), key.Name, exists)
	}
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(item, s.execution) {
		return protocol.Stall(operation, "DeployItemExists",
			"DeployItem %s exists and does not belong to execution %s; delete it, and annotate it %s=%s, because nobody else gives it the job to uninstall. If it "+
				"is left from a deletion with --cascade=orphan, annotate it %s=true before: what it deployed stays, and the next job takes it over",
			key, s.execution.Name, v1alpha1.OperationAnnotation, v1alpha1.OperationTestReconcile, v1alpha1.DeleteWithoutUninstallAnnotation)
	}
	r.items.Created(item)
	if !serves(item, template) {
		s.orphans = append(s.orphans, item)
		return nil
	}
	s.items[template.Name] = item
	if item.Status.JobID == s.execution.Status.JobID {
		return nil
	}
	return r.updateItem(ctx, s, item, template)
}

// updateItem makes an item what its template says.
func (r *Reconciler) updateItem(ctx context.Context, s *scope, item *v1alpha1.DeployItem, template *v1alpha1.DeployItemTemplate) error {
	before := describedOf(item)
	if err := describe(ctx, r.Client, s.execution, item, template); err != nil {
		return err
	}
	same, err := storage.SameJSON(before, describedOf(item))
	if err != nil || same {
		return err
	}
	if err := r.Update(ctx, item); err != nil {
		return err
	}
	r.items.Wrote(item)
	return nil
}

// described is what describe writes of an item. It shares the parts of the spec with the item: describe replaces the spec as a whole.
type described struct {
	Labels      map[string]string       `json:"labels,omitempty"`
	Annotations map[string]string       `json:"annotations,omitempty"`
	Spec        v1alpha1.DeployItemSpec `json:"spec"`
}

func describedOf(item *v1alpha1.DeployItem) described {
	return described{maps.Clone(item.Labels), maps.Clone(item.Annotations), item.Spec}
}

// describe writes a template into an item. Labels are those of the template and ours, no others.
func describe(
	ctx context.Context, cache client.Reader, execution *v1alpha1.Execution, item *v1alpha1.DeployItem, template *v1alpha1.DeployItemTemplate,
) error {
	item.Labels = map[string]string{}
	maps.Copy(item.Labels, template.Labels)
	item.Labels[v1alpha1.ExecutionManagedByLabel] = execution.Name
	item.Labels[v1alpha1.ExecutionManagedNameLabel] = template.Name
	if shard, ok := execution.Labels[protocol.ShardLabel]; ok {
		item.Labels[protocol.ShardLabel] = shard
	}
	protocol.SetInherited(execution, item)
	item.Annotations[v1alpha1.DeployerTypeAnnotation] = template.Type
	item.Annotations[v1alpha1.DeployerTargetNameAnnotation] = v1alpha1.NoTargetName
	item.Annotations[v1alpha1.DependsOnAnnotation] = strings.Join(template.DependsOn, ",")
	item.Spec = v1alpha1.DeployItemSpec{
		Type: template.Type, Context: execution.Spec.Context, Configuration: template.Configuration,
		Timeout: template.Timeout, UpdateOnChangeOnly: template.UpdateOnChangeOnly, OnDelete: template.OnDelete,
		ServiceAccountName: template.ServiceAccountName,
	}
	delete(item.Annotations, v1alpha1.OriginalTargetAnnotation)
	if template.Target == nil {
		return nil
	}
	item.Annotations[v1alpha1.DeployerTargetNameAnnotation] = template.Target.Name
	item.Spec.Target = &v1alpha1.DeployItemTarget{Name: template.Target.Name, Namespace: execution.Namespace}
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: template.Target.Name}}
	err := cache.Get(ctx, client.ObjectKey{Namespace: execution.Namespace, Name: template.Target.Name}, target, client.UnsafeDisableDeepCopy)
	item.Annotations[v1alpha1.OriginalTargetAnnotation] = v1alpha1.OriginalName(target)
	return client.IgnoreNotFound(err)
}
