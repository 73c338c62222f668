// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package watching

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
)

// maxFormer is how many bytes Siblings keeps for a namespace of what Installations said before: what some thousands of them import and export.
const maxFormer = 1 << 20

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Siblings remembers the Installations that have changed, and the objects that Installations may use, until a worker of their namespace has woken who
// may wait for that. Events of all namespaces come one after the other, so that none may take long. It is safe for concurrent use.
type Siblings struct {
	mu      sync.Mutex
	changes map[string]*changes
}

// changes are those in one namespace.
type changes struct {
	queue requestQueue
	// now has the Installations as they are by name, former what earlier versions and deleted ones said, which takes size bytes.
	now    map[string]*v1alpha1.Installation
	former []relations.Ties
	size   int
	// isMuch says that there was more than former may keep: everybody in the namespace is woken.
	isMuch bool
	// objects are the other objects that something has happened to; true for those that were gone.
	objects map[objectKey]bool
}

// note keeps what has happened in a namespace and brings that to a worker.
func (s *Siblings) note(queue requestQueue, namespace string, happened func(*changes)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == nil {
		s.changes = map[string]*changes{}
	}
	if s.changes[namespace] == nil {
		s.changes[namespace] = &changes{queue: queue, now: map[string]*v1alpha1.Installation{}, objects: map[objectKey]bool{}}
	}
	happened(s.changes[namespace])
	queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace}})
}

// take returns what has happened in a namespace since it was called last; nil is nothing.
func (s *Siblings) take(namespace string) *changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.changes[namespace]
	delete(s.changes, namespace)
	return found
}

// leave keeps what a version said that is no more.
func (c *changes) leave(inst *v1alpha1.Installation) {
	delete(c.now, inst.Name)
	if c.isMuch {
		return
	}
	ties := relations.TiesOf(inst)
	for _, keys := range [][]string{{ties.Parent}, ties.Imports, ties.Exports} {
		for _, key := range keys {
			c.size += len(key) + 16
		}
	}
	if c.size > maxFormer {
		c.isMuch, c.former = true, nil
		return
	}
	c.former = append(c.former, ties)
}

// siblingEvents notes events of Installations for their siblings. A change of the status concerns those who wait for the new state only; a change
// of the spec also those who waited for what the old spec said, whatever the Installation is doing.
type siblingEvents struct {
	handler.Funcs
	siblings *Siblings
}

// Create notes an Installation that is new. Of those that the process finds at its start each is looked at by itself.
func (h siblingEvents) Create(_ context.Context, e event.CreateEvent, queue requestQueue) {
	if !e.IsInInitialList {
		h.arrive(e.Object, queue)
	}
}

// Update notes an Installation that has changed.
func (h siblingEvents) Update(_ context.Context, e event.UpdateEvent, queue requestQueue) {
	if saysOther(e.ObjectOld, e.ObjectNew) {
		h.leave(e.ObjectOld, queue)
	}
	h.arrive(e.ObjectNew, queue)
}

// Delete notes an Installation that is gone.
func (h siblingEvents) Delete(_ context.Context, e event.DeleteEvent, queue requestQueue) {
	h.leave(e.Object, queue)
}

// arrive notes an Installation that others may have waited for: nobody goes on because one is at work.
func (h siblingEvents) arrive(obj client.Object, queue requestQueue) {
	inst, ok := obj.(*v1alpha1.Installation)
	if ok && isTied(inst) && (inst.Status.IsIdle() || relations.InDeletion(inst)) {
		h.siblings.note(queue, inst.Namespace, func(c *changes) { c.now[inst.Name] = inst })
	}
}

// leave notes a version of an Installation that is no more.
func (h siblingEvents) leave(obj client.Object, queue requestQueue) {
	if inst, ok := obj.(*v1alpha1.Installation); ok && isTied(inst) {
		h.siblings.note(queue, inst.Namespace, func(c *changes) { c.leave(inst) })
	}
}

// isTied reports whether an Installation may have siblings that wait for it.
func isTied(inst *v1alpha1.Installation) bool {
	imports, exports := &inst.Spec.Imports, &inst.Spec.Exports
	return len(imports.Data)+len(imports.Targets)+len(exports.Data)+len(exports.Targets) > 0
}

// saysOther reports whether two versions of an Installation may have other siblings, or others that they wait for.
func saysOther(old, new client.Object) bool {
	before, isInst := old.(*v1alpha1.Installation)
	now, areInst := new.(*v1alpha1.Installation)
	return isInst && areInst &&
		(before.UID != now.UID || before.Generation != now.Generation || relations.ParentOf(before) != relations.ParentOf(now))
}

// Waking returns a reconciler that wakes those who may wait for what has happened in a namespace where a request names only that, and leaves all other requests to another one.
func (f Finder) Waking(others reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		if request.Name != "" {
			return others.Reconcile(ctx, request)
		}
		if happened := f.Siblings.take(request.Namespace); happened != nil {
			for woken := range f.waiting(ctx, request.Namespace, happened) {
				happened.queue.Add(woken)
			}
		}
		return reconcile.Result{}, nil
	})
}

// waiting returns those of a namespace who may wait for what has happened there: those that something flows to from the Installations that have
// changed, producers in deletion that wait for them to import no more, and those that want to export what they export no more. Who uses another
// object may be in another namespace.
func (f Finder) waiting(ctx context.Context, namespace string, happened *changes) map[reconcile.Request]bool {
	found := map[reconcile.Request]bool{}
	for object, isGone := range happened.objects {
		add(found, f.usersOf(ctx, namespace, object, isGone))
	}
	switch {
	case happened.isMuch:
		add(found, f.list(ctx, everybody, client.InNamespace(namespace)))
		return found
	case len(happened.now)+len(happened.former) == 0:
		return found
	}
	imported, freed, all := map[string]bool{}, map[string]bool{}, happened.former
	for _, ties := range happened.former {
		add(freed, ties.Exports)
	}
	for _, inst := range happened.now {
		all = append(all, relations.TiesOf(inst))
	}
	for _, ties := range all {
		add(imported, ties.Imports)
	}
	for key := range freed {
		add(found, f.losers(ctx, namespace, key))
	}
	for key := range imported {
		add(found, f.findAll(ctx, relations.ExportIndex, key, relations.InDeletion, client.InNamespace(namespace)))
	}
	downstream, err := f.Related.Downstream(ctx, namespace, all)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the consumers of installations", "namespace", namespace)
	}
	for _, name := range downstream {
		found[reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}] = true
	}
	return found
}

func add[T comparable](set map[T]bool, members []T) {
	for _, member := range members {
		set[member] = true
	}
}
