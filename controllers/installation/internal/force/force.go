// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package force deletes Installations by force: it takes apart everything below one without uninstalling, whatever its state, and records what stays
// behind. It knows owners only, nothing of jobs or blueprints. It promises nothing to others.
package force

import (
	"context"
	"math"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Operation is what lastError.operation names.
const Operation = "ForceDelete"

// Deletion takes Installations apart.
type Deletion struct {
	client.Client
	// Live reads from the API server.
	Live     client.Reader
	Recorder record.EventRecorder
	// Installations and Executions learn of the writes.
	Installations, Executions *kit.Consistency
}

// Remains is what there is of an Installation and everything below it, as the API server says now.
type Remains struct {
	// inst is the Installation that is deleted by force.
	inst *v1alpha1.Installation
	// installations below the forced one, parents before children. As of executions and items only outlines are kept: a tree may be as large as it likes.
	installations, executions, items []*metav1.PartialObjectMetadata
	// leftovers describe the items by name of the DeployItem; their resources have so many bytes together.
	leftovers map[string]leftover
	bytes     int
}

// Of is what Survey has to find out about an Installation.
func Of(inst *v1alpha1.Installation) *Remains {
	return &Remains{inst: inst, leftovers: map[string]leftover{}}
}

// Requested reports whether an Installation in deletion is to be taken apart, whatever its state.
func Requested(inst *v1alpha1.Installation) bool {
	return !inst.DeletionTimestamp.IsZero() && inst.Annotations[v1alpha1.ForceDeleteAnnotation] == "true"
}

// Survey reads live what there is. It stops when the Installation as the API server has it now is another, is not to be deleted by force,
// or has been released already.
func (d *Deletion) Survey(ctx context.Context, found *Remains) error {
	live := &v1alpha1.Installation{}
	if err := d.Live.Get(ctx, client.ObjectKeyFromObject(found.inst), live); apierrors.IsNotFound(err) {
		return kit.ErrStop
	} else if err != nil {
		return err
	}
	if live.UID != found.inst.UID || !Requested(live) || !slices.Contains(live.Finalizers, v1alpha1.Finalizer) {
		return kit.ErrStop
	}
	return d.surveyTree(ctx, live, found)
}

// surveyTree adds what an Installation and those below it own, each once: owners may lead round in a circle.
func (d *Deletion) surveyTree(ctx context.Context, top *v1alpha1.Installation, found *Remains) error {
	children, err := d.ownedIn(ctx, top.Namespace, "Installation")
	if err != nil {
		return err
	}
	items, err := d.ownedIn(ctx, top.Namespace, "DeployItem")
	if err != nil {
		return err
	}
	below := tree{top.UID: {name: top.Name}}
	for queue := []*metav1.PartialObjectMetadata{outlineOf(top, "Installation")}; len(queue) > 0; queue = queue[1:] {
		inst := queue[0]
		if err := d.surveyExecution(ctx, inst, items, below, found); err != nil {
			return err
		}
		for _, name := range children[inst.UID] {
			child := &v1alpha1.Installation{}
			if there, err := d.readOwned(ctx, inst, name, child); err != nil {
				return err
			} else if _, known := below[child.UID]; known || !there {
				continue
			}
			below[child.UID] = node{above: inst.UID, name: nameBelow(child)}
			outline := outlineOf(child, "Installation")
			found.installations, queue = append(found.installations, outline), append(queue, outline)
		}
	}
	return nil
}

// ownedIn reads live the names of the objects of a kind in a namespace, by the UID of what controls them. Their labels do not count: whoever may write an
// object may remove them, and nobody would find it afterwards.
func (d *Deletion) ownedIn(ctx context.Context, namespace, kind string) (map[types.UID][]string, error) {
	owned, list := map[types.UID][]string{}, &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
	err := target.Pages(math.MaxInt, func(limit int64, next string) (string, error) {
		if err := d.Live.List(ctx, list, client.InNamespace(namespace), client.Limit(limit), client.Continue(next)); err != nil {
			return "", err
		}
		if next == "" {
			clear(owned)
		}
		for i := range list.Items {
			if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil {
				owned[owner.UID] = append(owned[owner.UID], list.Items[i].Name)
			}
		}
		return list.Continue, nil
	})
	return owned, err
}

// readOwned reads an object live and reports whether it is there and controlled by another.
func (d *Deletion) readOwned(ctx context.Context, owner client.Object, name string, into client.Object) (bool, error) {
	err := d.Live.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && metav1.IsControlledBy(into, owner), err
}

// surveyExecution adds the Execution of an Installation and its items, of which items has the names.
func (d *Deletion) surveyExecution(ctx context.Context, inst client.Object, items map[types.UID][]string, below tree, found *Remains) error {
	execution := &v1alpha1.Execution{}
	if there, err := d.readOwned(ctx, inst, inst.GetName(), execution); err != nil || !there {
		return err
	}
	found.executions = append(found.executions, outlineOf(execution, "Execution"))
	path := below.path(inst.GetUID())
	for _, name := range items[execution.UID] {
		item := &v1alpha1.DeployItem{}
		if there, err := d.readOwned(ctx, execution, name, item); err != nil {
			return err
		} else if there {
			found.items = append(found.items, outlineOf(item, "DeployItem"))
			found.leftovers[item.Name] = found.shorten(describeLeftover(path, item))
		}
	}
	return nil
}

// outlineOf returns what Dismantle has to know of an object, and shares nothing large with it. A write returns no more than metadata into it.
func outlineOf(object client.Object, kind string) *metav1.PartialObjectMetadata {
	outline := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		DeletionTimestamp: object.GetDeletionTimestamp(), Finalizers: object.GetFinalizers(), OwnerReferences: object.GetOwnerReferences(),
	}}
	if value := object.GetAnnotations()[v1alpha1.DeleteWithoutUninstallAnnotation]; value == "true" {
		outline.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: value}
	}
	outline.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	return outline
}

// Dismantle takes apart what Survey has found. First nobody is left who would make something again or uninstall it, then the items go, then
// Executions and sub-installations, children first. Only our own finalizer is removed, and only from objects of this tree.
func (d *Deletion) Dismantle(ctx context.Context, found *Remains) error {
	for i, inst := range found.installations {
		if err := d.beginDeletion(ctx, inst, d.Installations); err != nil {
			return err
		}
		found.installations[i] = outlineOf(inst, "Installation")
	}
	for i, execution := range found.executions {
		if err := d.beginDeletion(ctx, execution, d.Executions); err != nil {
			return err
		}
		found.executions[i] = outlineOf(execution, "Execution")
	}
	for _, item := range found.items {
		if err := d.dropItem(ctx, item.DeepCopy()); err != nil {
			return err
		}
	}
	for _, execution := range found.executions {
		if err := d.letGo(ctx, execution, d.Executions); err != nil {
			return err
		}
	}
	for _, inst := range slices.Backward(found.installations) {
		if err := d.letGo(ctx, inst, d.Installations); err != nil {
			return err
		}
	}
	return nil
}

// beginDeletion deletes an object that its finalizer still holds, so that from now on nothing is done for it but to delete it without uninstalling.
func (d *Deletion) beginDeletion(ctx context.Context, object client.Object, written *kit.Consistency) error {
	yes := "true"
	change := kit.MetadataChange{Annotations: map[string]*string{v1alpha1.DeleteWithoutUninstallAnnotation: &yes}}
	if err := kit.PatchMetadata(ctx, d.Client, object, change); err != nil {
		return client.IgnoreNotFound(err)
	}
	return kit.DeleteLive(ctx, d.Live, d.Client, object, written)
}

// dropItem deletes an item. The finalizer goes first: no deployer ever sees the item in deletion and uninstalls it.
func (d *Deletion) dropItem(ctx context.Context, item client.Object) error {
	yes := "true"
	change := kit.MetadataChange{
		RemoveFinalizer: v1alpha1.Finalizer, Annotations: map[string]*string{v1alpha1.DeleteWithoutUninstallAnnotation: &yes},
	}
	if err := kit.PatchMetadata(ctx, d.Client, item, change); err != nil {
		return client.IgnoreNotFound(err)
	}
	return kit.DeleteLive(ctx, d.Live, d.Client, item, nil)
}

// letGo removes our finalizer from an object in deletion.
func (d *Deletion) letGo(ctx context.Context, object client.Object, written *kit.Consistency) error {
	err := kit.PatchMetadata(ctx, d.Client, object, kit.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer})
	if err == nil || apierrors.IsNotFound(err) {
		written.Released(object)
	}
	return client.IgnoreNotFound(err)
}
