// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const forceOperation = "ForceDelete"

// remains is what there is of an Installation and everything below it, as the API server says now.
type remains struct {
	// installations below the forced one, parents before children.
	installations []*v1alpha1.Installation
	executions    []*v1alpha1.Execution
	items         []*v1alpha1.DeployItem
	// leftovers describe the items by name of the DeployItem.
	leftovers map[string]leftover
}

// forced reports whether an Installation in deletion is to be taken apart, whatever its state.
func forced(inst *v1alpha1.Installation) bool {
	return !inst.DeletionTimestamp.IsZero() && inst.Annotations[v1alpha1.ForceDeleteAnnotation] == "true"
}

// survey reads live what there is. It stops when the Installation as the API server has it now is another, is not to be deleted by force,
// or has been released already.
func (r *Reconciler) survey(ctx context.Context, s *scope) error {
	live := &v1alpha1.Installation{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.inst), live); err != nil {
		return stopUnless(client.IgnoreNotFound(err))
	}
	if live.UID != s.inst.UID || !forced(live) || !slices.Contains(live.Finalizers, v1alpha1.Finalizer) {
		return kit.ErrStop
	}
	s.remains = &remains{leftovers: map[string]leftover{}}
	return r.surveyTree(ctx, live, s.remains)
}

// surveyTree adds what an Installation and those below it own, each once: owners may lead round in a circle.
func (r *Reconciler) surveyTree(ctx context.Context, top *v1alpha1.Installation, found *remains) error {
	paths := map[types.UID]string{top.UID: top.Name}
	for queue := []*v1alpha1.Installation{top}; len(queue) > 0; queue = queue[1:] {
		inst := queue[0]
		if err := r.surveyExecution(ctx, inst, paths[inst.UID], found); err != nil {
			return err
		}
		children, err := r.ownedBy(ctx, inst)
		if err != nil {
			return err
		}
		for _, child := range children {
			if _, known := paths[child.UID]; known {
				continue
			}
			paths[child.UID] = paths[inst.UID] + "/" + child.Annotations[v1alpha1.SubinstallationNameAnnotation]
			found.installations, queue = append(found.installations, child), append(queue, child)
		}
	}
	return nil
}

// ownedBy reads live the Installations that name one as their owner.
func (r *Reconciler) ownedBy(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	list := &v1alpha1.InstallationList{}
	labels := client.MatchingLabels{v1alpha1.EncompassedByLabel: inst.Name}
	if err := r.Live.List(ctx, list, client.InNamespace(inst.Namespace), labels); err != nil {
		return nil, err
	}
	var owned []*v1alpha1.Installation
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], inst) {
			owned = append(owned, &list.Items[i])
		}
	}
	return owned, nil
}

func (r *Reconciler) surveyExecution(ctx context.Context, inst *v1alpha1.Installation, path string, found *remains) error {
	execution := &v1alpha1.Execution{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(inst), execution)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(execution, inst) {
		return nil
	}
	if err != nil {
		return err
	}
	found.executions = append(found.executions, execution)
	items := &v1alpha1.DeployItemList{}
	labels := client.MatchingLabels{v1alpha1.ExecutionManagedByLabel: execution.Name}
	if err := r.Live.List(ctx, items, client.InNamespace(inst.Namespace), labels); err != nil {
		return err
	}
	for i := range items.Items {
		item := &items.Items[i]
		if metav1.IsControlledBy(item, execution) {
			found.items = append(found.items, item)
			found.leftovers[item.Name] = describeLeftover(path, item)
		}
	}
	return nil
}

// dismantle takes apart what survey has found. First nobody is left who would make something again or uninstall it, then the items go, then
// Executions and sub-installations, children first. Only our own finalizer is removed, and only from objects of this tree.
func (r *Reconciler) dismantle(ctx context.Context, s *scope) error {
	for _, inst := range s.remains.installations {
		if err := r.condemn(ctx, inst, &r.installations); err != nil {
			return err
		}
	}
	for _, execution := range s.remains.executions {
		if err := r.condemn(ctx, execution, &r.executions); err != nil {
			return err
		}
	}
	for _, item := range s.remains.items {
		if err := r.dropItem(ctx, item); err != nil {
			return err
		}
	}
	for _, execution := range s.remains.executions {
		if err := r.letGo(ctx, execution, &r.executions); err != nil {
			return err
		}
	}
	for _, inst := range slices.Backward(s.remains.installations) {
		if err := r.letGo(ctx, inst, &r.installations); err != nil {
			return err
		}
	}
	return nil
}

// condemn deletes an object that its finalizer still holds, so that from now on nothing is done for it but to delete it without uninstalling.
func (r *Reconciler) condemn(ctx context.Context, object client.Object, written *kit.Consistency) error {
	yes := "true"
	change := kit.MetadataChange{Annotations: map[string]*string{v1alpha1.DeleteWithoutUninstallAnnotation: &yes}}
	if err := kit.PatchMetadata(ctx, r.Client, object, change); err != nil {
		return client.IgnoreNotFound(err)
	}
	return kit.DeleteLive(ctx, r.Live, r.Client, object, written)
}

// dropItem deletes an item. The finalizer goes first: no deployer ever sees the item in deletion and uninstalls it.
func (r *Reconciler) dropItem(ctx context.Context, item *v1alpha1.DeployItem) error {
	yes := "true"
	change := kit.MetadataChange{
		RemoveFinalizer: v1alpha1.Finalizer, Annotations: map[string]*string{v1alpha1.DeleteWithoutUninstallAnnotation: &yes},
	}
	if err := kit.PatchMetadata(ctx, r.Client, item, change); err != nil {
		return client.IgnoreNotFound(err)
	}
	return kit.DeleteLive(ctx, r.Live, r.Client, item, nil)
}

// letGo removes our finalizer from an object in deletion.
func (r *Reconciler) letGo(ctx context.Context, object client.Object, written *kit.Consistency) error {
	err := kit.PatchMetadata(ctx, r.Client, object, kit.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer})
	if err == nil || apierrors.IsNotFound(err) {
		written.Released(object)
	}
	return client.IgnoreNotFound(err)
}
