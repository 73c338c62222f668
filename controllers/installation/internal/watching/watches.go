// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package watching says which Installations an event concerns. It reads caches and decides nothing: whoever is woken looks for itself.
// It promises nothing to others.
package watching

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/sensitive"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// Finder finds the Installations that events concern.
type Finder struct {
	client.Reader
	// Related finds siblings.
	Related *relations.Finder
	// Unwatched are the kinds of Flux sources that the process may not watch.
	Unwatched []client.Object
	// Seen learns of the objects that the cache shows by now, or does not show any more.
	Seen func(kind string, obj client.Object)
	// Siblings has what Installations are to be woken for.
	Siblings *Siblings
	// Namespaces says that the labels of namespaces are watched.
	Namespaces bool
}

// secretIndex finds DataObjects by the Secret that holds their value.
const secretIndex = "value-in"

// Index registers the indexes that Installations, their data and Contexts are found by.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	indexes := map[string]client.IndexerFunc{
		inputs.SourceIndex: inputs.SourcesOf, inputs.ContextIndex: inputs.ContextsOf, relations.ImportIndex: relations.ImportsOf,
		relations.ExportIndex: relations.ExportsOf, relations.ParentIndex: relations.ParentsOf,
	}
	for field, index := range indexes {
		if err := indexer.IndexField(ctx, &v1alpha1.Installation{}, field, index); err != nil {
			return fmt.Errorf("index installations by %s: %w", field, err)
		}
	}
	for _, object := range []client.Object{&v1alpha1.DataObject{}, &v1alpha1.Target{}} {
		if err := indexer.IndexField(ctx, object, data.ScopeIndex, data.ScopeOfData); err != nil {
			return fmt.Errorf("index data by scope: %w", err)
		}
		if err := indexer.IndexField(ctx, object, data.ExporterIndex, data.ExportedBy); err != nil {
			return fmt.Errorf("index data by source: %w", err)
		}
	}
	if err := indexer.IndexField(ctx, &v1alpha1.DataObject{}, secretIndex, sensitive.SecretOf); err != nil {
		return fmt.Errorf("index data by Secret: %w", err)
	}
	if err := indexer.IndexField(ctx, &v1alpha1.Context{}, inputs.UsedByContextIndex, inputs.UsedByContext); err != nil {
		return fmt.Errorf("index contexts by what they name: %w", err)
	}
	return nil
}

// Watch builds a controller of Installations with all watches, for a reconciler that Waking has made. Kinds of Flux sources that the cluster does not
// serve are not watched.
func (f Finder) Watch(mgr ctrl.Manager) (*builder.Builder, error) {
	watches := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Installation{}).
		Watches(&v1alpha1.Execution{}, kit.WakeController("Installation")).
		Watches(&v1alpha1.Installation{}, kit.WakeController("Installation")).
		Watches(&v1alpha1.Installation{}, siblingEvents{siblings: f.Siblings}).
		Watches(&v1alpha1.Execution{}, handler.EnqueueRequestsFromMapFunc(namesake), builder.WithPredicates(onlyDeletions)).
		WatchesMetadata(&corev1.Secret{}, f.eventsOf("Secret")).
		WatchesMetadata(&corev1.ConfigMap{}, f.eventsOf("ConfigMap")).
		Watches(&v1alpha1.DataObject{}, f.eventsOf("DataObject")).
		Watches(&v1alpha1.Target{}, f.eventsOf("Target"), builder.WithPredicates(kit.BeyondStatus)).
		Watches(&v1alpha1.Context{}, f.eventsOf("Context")).
		Watches(&v1alpha1.ComponentVersionOverwrites{}, f.eventsOf("ComponentVersionOverwrites"))
	if f.Namespaces {
		watches = watches.WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(f.defaultedIn), builder.WithPredicates(predicate.LabelChangedPredicate{}))
	}
	kinds, err := f.sources(mgr)
	for _, kind := range kinds {
		watches = watches.Watches(kind, f.eventsOf(flux.KindOf(kind)), builder.WithPredicates(flux.RevisionChanged()))
	}
	return watches, err
}

// sources returns the kinds of Flux sources to watch.
func (f Finder) sources(mgr ctrl.Manager) ([]client.Object, error) {
	kinds, err := flux.Available(mgr.GetRESTMapper())
	if err != nil {
		return nil, fmt.Errorf("find the kinds of Flux sources: %w", err)
	}
	return slices.DeleteFunc(kinds, func(kind client.Object) bool {
		return slices.ContainsFunc(f.Unwatched, func(unwatched client.Object) bool {
			return reflect.TypeOf(unwatched) == reflect.TypeOf(kind)
		})
	}), nil
}

// defaultedIn returns the roots of a namespace that do not say themselves whether they follow changes.
func (f Finder) defaultedIn(ctx context.Context, namespace client.Object) []reconcile.Request {
	return f.list(ctx, jobs.TakesDefault, client.InNamespace(namespace.GetName()))
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
