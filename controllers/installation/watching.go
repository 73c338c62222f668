// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// watcher finds the Installations that events concern.
type watcher struct {
	client.Reader
	// Related finds siblings.
	Related *relations.Finder
	// Seen learns of the objects that the cache shows by now, or does not show any more.
	Seen func(kind string, obj client.Object)
}

// secretIndex finds DataObjects by the Secret that holds their value.
const secretIndex = "value-in"

// registerIndexes registers the indexes that Installations, their data and Contexts are found by.
func registerIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := relations.Index(ctx, indexer); err != nil {
		return err
	}
	for field, index := range map[string]client.IndexerFunc{inputs.SourceIndex: inputs.SourcesOf, inputs.ContextIndex: inputs.ContextsOf} {
		if err := indexer.IndexField(ctx, &v1alpha1.Installation{}, field, index); err != nil {
			return fmt.Errorf("index installations by %s: %w", field, err)
		}
	}
	if err := indexer.IndexField(ctx, &v1alpha1.DataObject{}, secretIndex, storage.SecretOf); err != nil {
		return fmt.Errorf("index data by Secret: %w", err)
	}
	if err := indexer.IndexField(ctx, &v1alpha1.Context{}, inputs.UsedByContextIndex, inputs.UsedByContext); err != nil {
		return fmt.Errorf("index contexts by what they name: %w", err)
	}
	return nil
}

// watch builds a controller of Installations with all watches: sources are the kinds of Flux sources among them, namespaces says that the labels of
// namespaces are watched, too.
func (f watcher) watch(mgr ctrl.Manager, sources []client.Object, namespaces bool) *builder.Builder {
	watches := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Installation{}).
		Watches(&v1alpha1.Execution{}, protocol.WakeController("Installation")).
		Watches(&v1alpha1.Installation{}, protocol.WakeController("Installation")).
		Watches(&v1alpha1.Installation{}, f.siblingEvents()).
		Watches(&v1alpha1.Execution{}, handler.EnqueueRequestsFromMapFunc(namesake), builder.WithPredicates(onlyDeletions)).
		WatchesMetadata(&corev1.Secret{}, f.eventsOf("Secret")).
		WatchesMetadata(&corev1.ConfigMap{}, f.eventsOf("ConfigMap")).
		Watches(&v1alpha1.DataObject{}, f.eventsOf("DataObject")).
		Watches(&v1alpha1.Target{}, f.eventsOf("Target"), builder.WithPredicates(protocol.BeyondStatus)).
		Watches(&v1alpha1.Context{}, f.eventsOf("Context")).
		Watches(&v1alpha1.ComponentVersionOverwrites{}, f.eventsOf("ComponentVersionOverwrites"))
	if namespaces {
		watches = watches.WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, namespace client.Object) []reconcile.Request {
			return f.list(ctx, jobs.TakesDefault, client.InNamespace(namespace.GetName())) // the roots that do not say themselves whether they follow changes
		}), builder.WithPredicates(predicate.LabelChangedPredicate{}))
	}
	for _, kind := range sources {
		watches = watches.Watches(kind, f.eventsOf(flux.KindOf(kind)), builder.WithPredicates(flux.RevisionChanged()))
	}
	return watches
}

// onlyDeletions passes on that objects are gone.
var onlyDeletions = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return true }, GenericFunc: func(event.GenericEvent) bool { return false },
}

// namesake wakes the Installation that waits for the name of an object.
func namesake(_ context.Context, obj client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(obj)}}
}

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// objectKey names an object of a namespace.
type objectKey struct{ kind, name string }

func (k objectKey) in(namespace string) string { return k.kind + "/" + namespace + "/" + k.name }

func (k objectKey) String() string { return k.kind + "/" + k.name }

// events wakes the Installations that an event concerns. Of those that concern an object which the process finds at its start each is looked at by itself.
func events(concerned func(ctx context.Context, object client.Object, isGone bool) []reconcile.Request) handler.Funcs {
	wake := func(ctx context.Context, queue requestQueue, object client.Object, isGone bool) {
		for _, request := range concerned(ctx, object, isGone) {
			queue.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue requestQueue) {
			if !e.IsInInitialList {
				wake(ctx, queue, e.Object, false)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue requestQueue) {
			wake(ctx, queue, e.ObjectNew, false)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue requestQueue) { wake(ctx, queue, e.Object, true) },
	}
}

// eventsOf wakes the users of an object of a kind, and tells workers that wait for the cache to show one.
func (f watcher) eventsOf(kind string) handler.Funcs {
	handlers := events(func(ctx context.Context, object client.Object, isGone bool) []reconcile.Request {
		f.Seen(kind, object)
		return f.usersOf(ctx, object.GetNamespace(), objectKey{kind, object.GetName()}, isGone)
	})
	create := handlers.CreateFunc
	handlers.CreateFunc = func(ctx context.Context, e event.CreateEvent, queue requestQueue) {
		if e.IsInInitialList {
			f.Seen(kind, e.Object)
		}
		create(ctx, e, queue)
	}
	return handlers
}

// siblingEvents wakes the siblings of an Installation. A change of the status concerns those who wait for the new state only; a change of the spec also
// those who waited for what the old spec said, whatever the Installation is doing. Nobody goes on because one is at work.
func (f watcher) siblingEvents() handler.Funcs {
	handlers := events(func(ctx context.Context, object client.Object, isGone bool) []reconcile.Request {
		inst := object.(*v1alpha1.Installation)
		if !isGone && !inst.Status.IsIdle() && !relations.InDeletion(inst) {
			return nil
		}
		return f.siblingsOf(ctx, inst, isGone)
	})
	update := handlers.UpdateFunc
	handlers.UpdateFunc = func(ctx context.Context, e event.UpdateEvent, queue requestQueue) {
		old, now := e.ObjectOld.(*v1alpha1.Installation), e.ObjectNew.(*v1alpha1.Installation)
		if old.UID != now.UID || old.Generation != now.Generation || relations.ParentOf(old) != relations.ParentOf(now) {
			handlers.DeleteFunc(ctx, event.DeleteEvent{Object: old}, queue)
		}
		update(ctx, e, queue)
	}
	return handlers
}

// siblingsOf returns those who may wait for a version of an Installation, or for its end: those that something flows to from it, producers in deletion
// that wait for it to import no more, and those that want to export what it exports no more.
func (f watcher) siblingsOf(ctx context.Context, inst *v1alpha1.Installation, isGone bool) (requests []reconcile.Request) {
	for _, key := range relations.ImportsOf(inst) {
		requests = append(requests, f.findAll(ctx, relations.ExportIndex, key, relations.InDeletion, client.InNamespace(inst.Namespace))...)
	}
	for _, key := range relations.ExportsOf(inst) {
		if isGone {
			requests = append(requests, f.losers(ctx, inst.Namespace, key)...)
		}
	}
	downstream, err := f.Related.Downstream(ctx, inst)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the consumers of an installation", "installation", client.ObjectKeyFromObject(inst))
	}
	for _, consumer := range downstream {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(consumer)})
	}
	return requests
}

// usersOf returns the Installations that may wait for what has happened to an object. Those of a Flux source may be in any namespace.
func (f watcher) usersOf(ctx context.Context, namespace string, object objectKey, isGone bool) []reconcile.Request {
	switch object.kind {
	case "Context":
		return f.findAll(ctx, inputs.ContextIndex, object.name, mayFollow, client.InNamespace(namespace))
	case "ComponentVersionOverwrites":
		return f.throughContext(ctx, object.in(namespace))
	case "Secret", "ConfigMap":
		users := append(f.find(ctx, relations.ImportIndex, object.String(), client.InNamespace(namespace)), f.throughContext(ctx, object.in(namespace))...)
		if object.kind == "Secret" {
			users = append(users, f.throughData(ctx, namespace, object.name, isGone)...)
		}
		return users
	case "DataObject", "Target":
		importers := f.find(ctx, relations.ImportIndex, object.String(), client.InNamespace(namespace))
		if isGone { // who exports it
			return append(importers, f.find(ctx, relations.ExportIndex, object.String(), client.InNamespace(namespace))...)
		}
		return append(importers, f.losers(ctx, namespace, object.String())...)
	}
	return append(f.find(ctx, inputs.SourceIndex, object.in(namespace)), f.throughContext(ctx, object.in(namespace))...)
}

// unsettled keeps the Installations that are at work or have failed: for the others a Context counts with their next job.
func unsettled(inst *v1alpha1.Installation) bool {
	return !inst.Status.IsIdle() || inst.Status.Phase.IsFailed()
}

// mayFollow keeps beside those the roots that the Context may make follow changes.
func mayFollow(inst *v1alpha1.Installation) bool { return unsettled(inst) || jobs.TakesDefault(inst) }

// throughContext returns the Installations that may wait for an object that their Context names.
func (f watcher) throughContext(ctx context.Context, key string) []reconcile.Request {
	list := &v1alpha1.ContextList{}
	if err := f.List(ctx, list, client.MatchingFields{inputs.UsedByContextIndex: key}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Contexts that name an object", "key", key)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, f.findAll(ctx, inputs.ContextIndex, list.Items[i].Name, unsettled, client.InNamespace(list.Items[i].Namespace))...)
	}
	return requests
}

// throughData returns the Installations that may wait for a Secret that holds the value of a DataObject.
func (f watcher) throughData(ctx context.Context, namespace, secret string, isGone bool) []reconcile.Request {
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
func (f watcher) losers(ctx context.Context, namespace, key string) []reconcile.Request {
	return f.findAll(ctx, relations.ExportIndex, key, jobs.LostToRival, client.InNamespace(namespace))
}

func (f watcher) find(ctx context.Context, field, key string, opts ...client.ListOption) []reconcile.Request {
	return f.findAll(ctx, field, key, everybody, opts...)
}

func everybody(*v1alpha1.Installation) bool { return true }

// findAll returns the Installations of an index entry that keep wants.
func (f watcher) findAll(
	ctx context.Context, field, key string, keep func(*v1alpha1.Installation) bool, opts ...client.ListOption,
) []reconcile.Request {
	return f.list(ctx, keep, append(opts, client.MatchingFields{field: key})...)
}

// list returns the Installations of a list that keep wants.
func (f watcher) list(ctx context.Context, keep func(*v1alpha1.Installation) bool, opts ...client.ListOption) []reconcile.Request {
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
