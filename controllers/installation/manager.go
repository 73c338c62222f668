// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/fair"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// SetupWithManager registers indexes, watches and the controller. Kinds of Flux sources that the cluster does not serve are not
// watched.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	r.metadata = mgr.GetCache()
	r.restored = kit.NewRestorations()
	indexes := map[string]client.IndexerFunc{
		inputs.SourceIndex: inputs.SourcesOf, relations.ImportIndex: relations.ImportsOf, relations.ExportIndex: relations.ExportsOf, relations.ParentIndex: relations.ParentsOf,
		inputs.ContextIndex: inputs.ContextsOf,
	}
	for field, index := range indexes {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Installation{}, field, index); err != nil {
			return fmt.Errorf("index installations by %s: %w", field, err)
		}
	}
	for _, object := range []client.Object{&v1alpha1.DataObject{}, &v1alpha1.Target{}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, object, data.ScopeIndex, data.ScopeOfData); err != nil {
			return fmt.Errorf("index data by scope: %w", err)
		}
		if err := mgr.GetFieldIndexer().IndexField(ctx, object, data.ExporterIndex, data.ExportedBy); err != nil {
			return fmt.Errorf("index data by source: %w", err)
		}
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Context{}, inputs.UsedByContextIndex, inputs.UsedByContext); err != nil {
		return fmt.Errorf("index contexts by what they name: %w", err)
	}
	blder := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Installation{}).
		Watches(&v1alpha1.Execution{}, kit.WakeController("Installation")).
		Watches(&v1alpha1.Installation{}, kit.WakeController("Installation")).
		Watches(&v1alpha1.Installation{}, r.siblingEvents()).
		Watches(&v1alpha1.Execution{}, handler.EnqueueRequestsFromMapFunc(namesake), builder.WithPredicates(onlyDeletions)).
		WatchesMetadata(&corev1.Secret{}, r.users("Secret")).
		WatchesMetadata(&corev1.ConfigMap{}, r.users("ConfigMap")).
		Watches(&v1alpha1.DataObject{}, r.users("DataObject")).
		Watches(&v1alpha1.Target{}, r.users("Target"), builder.WithPredicates(kit.BeyondStatus)).
		Watches(&v1alpha1.DataObject{}, r.exporters("DataObject"), builder.WithPredicates(onlyDeletions)).
		Watches(&v1alpha1.Target{}, r.exporters("Target"), builder.WithPredicates(onlyDeletions)).
		Watches(&v1alpha1.Context{}, handler.EnqueueRequestsFromMapFunc(r.usersOfContext)).
		Watches(&v1alpha1.ComponentVersionOverwrites{}, r.usersThroughContext("ComponentVersionOverwrites")).
		WithOptions(fair.Options(concurrency, nil))
	kinds, err := r.watchedSources(mgr)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		blder = blder.Watches(kind, handler.EnqueueRequestsFromMapFunc(r.usersOfSource), builder.WithPredicates(flux.RevisionChanged()))
	}
	return blder.Complete(r)
}

// users wakes the Installations that import an object, and workers that wait for the cache to show it.
func (r *Reconciler) users(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		r.seen(kind, obj)
		requests := r.find(ctx, relations.ImportIndex, kind+"/"+obj.GetName(), client.InNamespace(obj.GetNamespace()))
		if kind == "Secret" || kind == "ConfigMap" {
			requests = append(requests, r.throughContext(ctx, kind+"/"+client.ObjectKeyFromObject(obj).String())...)
			return requests
		}
		return append(requests, r.losers(ctx, obj.GetNamespace(), kind+"/"+obj.GetName())...)
	})
}

// usersOfSource wakes the Installations of all namespaces that name a source.
func (r *Reconciler) usersOfSource(ctx context.Context, obj client.Object) []reconcile.Request {
	return append(r.find(ctx, inputs.SourceIndex, flux.KeyOf(obj)), r.throughContext(ctx, flux.KeyOf(obj))...)
}

func (r *Reconciler) find(ctx context.Context, field, key string, opts ...client.ListOption) []reconcile.Request {
	return r.findAll(ctx, field, key, func(*v1alpha1.Installation) bool { return true }, opts...)
}

// findAll returns the Installations of an index entry that keep wants.
func (r *Reconciler) findAll(
	ctx context.Context, field, key string, keep func(*v1alpha1.Installation) bool, opts ...client.ListOption,
) []reconcile.Request {
	list := &v1alpha1.InstallationList{}
	opts = append(opts, client.MatchingFields{field: key}, client.UnsafeDisableDeepCopy)
	if err := r.List(ctx, list, opts...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the users of an object", "index", field, "key", key)
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
