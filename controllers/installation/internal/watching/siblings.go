// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package watching

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
)

// siblingEvents wakes siblings at events of Installations. A change of the status concerns those who wait for the new state only; a change
// of the spec also those who waited for what the old spec said, whatever the Installation is doing.
type siblingEvents struct {
	handler.EventHandler
	finder Finder
}

// Update wakes siblings when an Installation has changed.
func (h siblingEvents) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	requests := h.finder.waitingSiblings(ctx, e.ObjectNew)
	if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
		requests = append(requests, h.finder.formerSiblings(ctx, e.ObjectOld)...)
		requests = append(requests, h.finder.losers(ctx, e.ObjectOld.GetNamespace(), relations.ExportsOf(e.ObjectOld)...)...)
	}
	for _, request := range requests {
		queue.Add(request)
	}
}

// Delete wakes siblings when an Installation is gone, and those that wanted to export the same.
func (h siblingEvents) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	requests := append(h.finder.waitingSiblings(ctx, e.Object), h.finder.losers(ctx, e.Object.GetNamespace(), relations.ExportsOf(e.Object)...)...)
	for _, request := range requests {
		queue.Add(request)
	}
}

// waitingSiblings wakes those who may wait for an Installation: when it is idle those that something flows to from here, and producers of
// its imports that are being deleted.
func (f Finder) waitingSiblings(ctx context.Context, obj client.Object) []reconcile.Request {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	requests := f.producersInDeletion(ctx, inst)
	if inst.Status.IsIdle() || relations.InDeletion(inst) {
		requests = append(requests, f.consumers(ctx, inst)...)
	}
	return requests
}

// formerSiblings returns those who may have waited for an Installation with a spec that it does not have any more.
func (f Finder) formerSiblings(ctx context.Context, obj client.Object) []reconcile.Request {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	return append(f.producersInDeletion(ctx, inst), f.consumers(ctx, inst)...)
}

// producersInDeletion returns the Installations in deletion that may wait for this one to import no more.
func (f Finder) producersInDeletion(ctx context.Context, inst *v1alpha1.Installation) []reconcile.Request {
	var requests []reconcile.Request
	for _, key := range relations.ImportsOf(inst) {
		requests = append(requests, f.findAll(ctx, relations.ExportIndex, key, relations.InDeletion, client.InNamespace(inst.Namespace))...)
	}
	return requests
}

// consumers returns the Installations that something flows to from this one.
func (f Finder) consumers(ctx context.Context, inst *v1alpha1.Installation) []reconcile.Request {
	downstream, err := f.Related.Downstream(ctx, inst)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the consumers of an installation", "installation", client.ObjectKeyFromObject(inst))
	}
	requests := make([]reconcile.Request, 0, len(downstream))
	for _, other := range downstream {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
	}
	return requests
}
