// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package watching

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
)

// objectKey names an object of a namespace.
type objectKey struct{ kind, name string }

func (k objectKey) in(namespace string) string { return k.kind + "/" + namespace + "/" + k.name }

func (k objectKey) String() string { return k.kind + "/" + k.name }

// objectEvents notes events of the objects of a kind for a worker of their namespace, and tells workers that wait for the cache to show one.
type objectEvents struct {
	handler.Funcs
	Finder
	kind string
}

func (f Finder) eventsOf(kind string) objectEvents { return objectEvents{Finder: f, kind: kind} }

// Create notes an object that is new. Of the Installations that use those that the process finds at its start each is looked at by itself.
func (h objectEvents) Create(ctx context.Context, e event.CreateEvent, queue requestQueue) {
	h.Seen(h.kind, e.Object)
	if !e.IsInInitialList {
		h.note(ctx, e.Object, false, queue)
	}
}

// Update notes an object that has changed.
func (h objectEvents) Update(ctx context.Context, e event.UpdateEvent, queue requestQueue) {
	h.Seen(h.kind, e.ObjectNew)
	h.note(ctx, e.ObjectNew, false, queue)
}

// Delete notes an object that is gone.
func (h objectEvents) Delete(ctx context.Context, e event.DeleteEvent, queue requestQueue) {
	h.Seen(h.kind, e.Object)
	h.note(ctx, e.Object, true, queue)
}

// note leaves an object that somebody uses to a worker. The namespace of one that nobody uses takes no share of the workers from others.
func (h objectEvents) note(ctx context.Context, obj client.Object, isGone bool, queue requestQueue) {
	key := objectKey{h.kind, obj.GetName()}
	if !h.isUsed(ctx, obj.GetNamespace(), key) {
		return
	}
	h.Siblings.note(queue, obj.GetNamespace(), func(c *changes) { c.objects[key] = c.objects[key] || isGone })
}

// isUsed reports whether an Installation or a Context names an object, also where that cannot be found out.
func (f Finder) isUsed(ctx context.Context, namespace string, object objectKey) bool {
	installations, here := &v1alpha1.InstallationList{}, client.InNamespace(namespace)
	switch object.kind {
	case "Context":
		return f.isListed(ctx, installations, inputs.ContextIndex, object.name, here)
	case "ComponentVersionOverwrites":
		return f.isListed(ctx, &v1alpha1.ContextList{}, inputs.UsedByContextIndex, object.in(namespace))
	case "Secret", "ConfigMap":
		return f.isListed(ctx, installations, relations.ImportIndex, object.String(), here) ||
			object.kind == "Secret" && f.isListed(ctx, &v1alpha1.DataObjectList{}, secretIndex, object.name, here) ||
			f.isListed(ctx, &v1alpha1.ContextList{}, inputs.UsedByContextIndex, object.in(namespace))
	case "DataObject", "Target":
		return f.isListed(ctx, installations, relations.ImportIndex, object.String(), here) ||
			f.isListed(ctx, installations, relations.ExportIndex, object.String(), here)
	}
	return f.isListed(ctx, installations, inputs.SourceIndex, object.in(namespace)) ||
		f.isListed(ctx, &v1alpha1.ContextList{}, inputs.UsedByContextIndex, object.in(namespace))
}

func (f Finder) isListed(ctx context.Context, list client.ObjectList, field, key string, opts ...client.ListOption) bool {
	err := f.List(ctx, list, append(opts, client.MatchingFields{field: key}, client.Limit(1), client.UnsafeDisableDeepCopy)...)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find out whether an event concerns anybody", "by", key)
	}
	return err != nil || apimeta.LenList(list) > 0
}

// usersOf returns the Installations that may wait for what has happened to an object. Those of a Flux source may be in any namespace.
func (f Finder) usersOf(ctx context.Context, namespace string, object objectKey, isGone bool) []reconcile.Request {
	switch object.kind {
	case "Context":
		return f.findAll(ctx, inputs.ContextIndex, object.name, mayFollow, client.InNamespace(namespace))
	case "ComponentVersionOverwrites":
		return f.throughContext(ctx, object.in(namespace))
	case "Secret", "ConfigMap":
		users := append(f.importers(ctx, namespace, object), f.throughContext(ctx, object.in(namespace))...)
		if object.kind == "Secret" {
			users = append(users, f.throughData(ctx, namespace, object.name, isGone)...)
		}
		return users
	case "DataObject", "Target":
		return append(f.importers(ctx, namespace, object), f.exporters(ctx, namespace, object, isGone)...)
	}
	return append(f.find(ctx, inputs.SourceIndex, object.in(namespace)), f.throughContext(ctx, object.in(namespace))...)
}

func (f Finder) importers(ctx context.Context, namespace string, object objectKey) []reconcile.Request {
	return f.find(ctx, relations.ImportIndex, object.String(), client.InNamespace(namespace))
}

// exporters returns the Installations that export an object which is gone, or wait for an export.
func (f Finder) exporters(ctx context.Context, namespace string, object objectKey, isGone bool) []reconcile.Request {
	if isGone {
		return f.find(ctx, relations.ExportIndex, object.String(), client.InNamespace(namespace))
	}
	return f.losers(ctx, namespace, object.String())
}

// usersOfContext returns the Installations that may wait for a Context.
func (f Finder) usersOfContext(ctx context.Context, namespace, name string) []reconcile.Request {
	return f.findAll(ctx, inputs.ContextIndex, name, unsettled, client.InNamespace(namespace))
}

// unsettled keeps the Installations that are at work or have failed: for the others a Context counts with their next job.
func unsettled(inst *v1alpha1.Installation) bool {
	return !inst.Status.IsIdle() || inst.Status.Phase.IsFailed()
}

// mayFollow keeps beside those the roots that the Context may make follow changes.
func mayFollow(inst *v1alpha1.Installation) bool { return unsettled(inst) || jobs.TakesDefault(inst) }

// throughContext returns the Installations that may wait for an object that their Context names.
func (f Finder) throughContext(ctx context.Context, key string) []reconcile.Request {
	list := &v1alpha1.ContextList{}
	if err := f.List(ctx, list, client.MatchingFields{inputs.UsedByContextIndex: key}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Contexts that name an object", "key", key)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, f.usersOfContext(ctx, list.Items[i].Namespace, list.Items[i].Name)...)
	}
	return requests
}

// throughData returns the Installations that may wait for a Secret that holds the value of a DataObject.
func (f Finder) throughData(ctx context.Context, namespace, secret string, isGone bool) []reconcile.Request {
	list := &v1alpha1.DataObjectList{}
	err := f.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{secretIndex: secret}, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the DataObjects whose value a Secret holds", "secret", secret)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, f.usersOf(ctx, namespace, objectKey{"DataObject", list.Items[i].Name}, isGone)...)
	}
	return requests
}

// losers returns the Installations that wait for an export.
func (f Finder) losers(ctx context.Context, namespace, key string) []reconcile.Request {
	return f.findAll(ctx, relations.ExportIndex, key, jobs.LostToRival, client.InNamespace(namespace))
}

func (f Finder) find(ctx context.Context, field, key string, opts ...client.ListOption) []reconcile.Request {
	return f.findAll(ctx, field, key, everybody, opts...)
}

func everybody(*v1alpha1.Installation) bool { return true }

// findAll returns the Installations of an index entry that keep wants.
func (f Finder) findAll(
	ctx context.Context, field, key string, keep func(*v1alpha1.Installation) bool, opts ...client.ListOption,
) []reconcile.Request {
	return f.list(ctx, keep, append(opts, client.MatchingFields{field: key})...)
}

// list returns the Installations of a list that keep wants.
func (f Finder) list(ctx context.Context, keep func(*v1alpha1.Installation) bool, opts ...client.ListOption) []reconcile.Request {
	list := &v1alpha1.InstallationList{}
	if err := f.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the installations that an event concerns", "by", opts)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		if keep(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
