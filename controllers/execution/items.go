// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"cmp"
	"context"
	"iter"
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

// executionIndex finds the DeployItems of an Execution.
const executionIndex = "execution"

// readItems reads the DeployItems of the Execution from the index. It stops while the cache is older than what was written to them last.
func (r *Reconciler) readItems(ctx context.Context, s *scope) error {
	list := &v1alpha1.DeployItemList{}
	err := r.List(ctx, list, client.InNamespace(s.execution.Namespace), client.MatchingFields{executionIndex: s.execution.Name})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if r.items.Stale(&list.Items[i]) {
			return protocol.ErrStop
		}
		s.all = append(s.all, &list.Items[i])
	}
	return nil
}

// pairItems pairs the DeployItems with the templates. It stops while the cache does not show an item that was created.
func (r *Reconciler) pairItems(_ context.Context, s *scope) error {
	s.items, s.orphans = pair(s.execution, s.templates, s.all)
	return r.awaitCreated(s)
}

// pair returns the items that serve a template, by its name, and the orphans, which have to go: those without template, those of another
// type than their template, those in deletion, whoever asked for it, and those of an earlier Execution of this name. Of several items for
// one template the first by name serves. It sorts the given items.
func pair(execution *v1alpha1.Execution, templates []v1alpha1.DeployItemTemplate, items []*v1alpha1.DeployItem) (map[string]*v1alpha1.DeployItem, []*v1alpha1.DeployItem) {
	slices.SortFunc(items, func(a, b *v1alpha1.DeployItem) int { return strings.Compare(a.Name, b.Name) })
	paired, orphans := map[string]*v1alpha1.DeployItem{}, []*v1alpha1.DeployItem(nil)
	known := templatesOf(templates)
	for _, item := range items {
		name := madeFrom(item, execution.Name, maps.Keys(known))
		template := known[name]
		serves := metav1.IsControlledBy(item, execution) && template != nil && serves(item, template)
		if _, taken := paired[name]; !serves || taken {
			orphans = append(orphans, item)
			continue
		}
		paired[name] = item
	}
	return paired, orphans
}

// serves reports whether an item can be made what the template of its name says. One in deletion cannot come back, and the type of an item
// is immutable, because it names the deployer that has to uninstall: where somebody has changed it the one before counts.
func serves(item *v1alpha1.DeployItem, template *v1alpha1.DeployItemTemplate) bool {
	return item.DeletionTimestamp.IsZero() && deployedType(item) == template.Type
}

// deployedType returns the type of the deployer that ran the last job of an item, or its spec.type where that is not known.
func deployedType(item *v1alpha1.DeployItem) string {
	return cmp.Or(protocol.FormerType(item), item.Spec.Type)
}

// templatesOf returns templates by name.
func templatesOf(templates []v1alpha1.DeployItemTemplate) map[string]*v1alpha1.DeployItemTemplate {
	byName := make(map[string]*v1alpha1.DeployItemTemplate, len(templates))
	for i := range templates {
		byName[templates[i].Name] = &templates[i]
	}
	return byName
}

// madeFrom returns which of the named templates of an Execution an item was made from. Where somebody has removed the label that says so the name of the
// item does: nothing is uninstalled for a label.
func madeFrom(item *v1alpha1.DeployItem, execution string, names iter.Seq[string]) string {
	if name := templateOf(item); name != "" {
		return name
	}
	for name := range names {
		if storage.ChildName(execution, name) == item.Name {
			return name
		}
	}
	return ""
}

// templateOf returns the name of the template that an item was made from, as its label says.
func templateOf(item *v1alpha1.DeployItem) string {
	return item.Labels[v1alpha1.ExecutionManagedNameLabel]
}

// awaitCreated stops while the cache does not show an item that was created.
func (r *Reconciler) awaitCreated(s *scope) error {
	for i := range s.templates {
		if s.items[s.templates[i].Name] != nil {
			continue
		}
		key := client.ObjectKey{Namespace: s.execution.Namespace, Name: storage.ChildName(s.execution.Name, s.templates[i].Name)}
		if wait := r.items.Unseen(key); wait > 0 {
			s.requeue = wait
			return protocol.ErrStop
		}
	}
	return nil
}

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

// startItems hands the running job to every item whose dependencies have succeeded, unless one has failed.
func (r *Reconciler) startItems(ctx context.Context, s *scope) error {
	for _, item := range runnable(s.templates, s.items, s.execution.Status.JobID) {
		if err := r.startOn(ctx, s, item); err != nil {
			return err
		}
	}
	return nil
}

// runnable returns the items to start now under a job: none once one has failed, else those that have not got the job, run no other that does
// not give way, and depend on nothing that has not succeeded in it.
func runnable(templates []v1alpha1.DeployItemTemplate, items map[string]*v1alpha1.DeployItem, job string) []*v1alpha1.DeployItem {
	var next []*v1alpha1.DeployItem
	for i := range templates {
		item := items[templates[i].Name]
		if ended(item, job) && !succeeded(item, job) {
			return nil
		}
		if item.Status.JobID == job || !item.Status.IsIdle() && !runsByClock(item) {
			continue
		}
		if !slices.ContainsFunc(templates[i].DependsOn, func(name string) bool { return !succeeded(items[name], job) }) {
			next = append(next, item)
		}
	}
	return next
}

// ended reports whether an item has ended the job.
func ended(item *v1alpha1.DeployItem, job string) bool {
	return item != nil && item.Status.JobID == job && item.Status.JobIDFinished == job
}

func succeeded(item *v1alpha1.DeployItem, job string) bool {
	return ended(item, job) && item.Status.Phase == v1alpha1.PhaseSucceeded
}

// moveShard brings the DeployItems into the shard of the Execution, also while no job runs.
func (r *Reconciler) moveShard(ctx context.Context, s *scope) error {
	for _, item := range s.all {
		change := protocol.FollowShard(s.execution, item)
		if change.Empty() {
			continue
		}
		if err := protocol.PatchMetadata(ctx, r.Client, item, change); err != nil {
			return err
		}
		r.items.Wrote(item)
	}
	return nil
}
