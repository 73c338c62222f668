// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/fair"
)

// gatherTime is how long changes are gathered before one sync for all of them: a sync reads everything that matches.
const gatherTime = 500 * time.Millisecond

// SetupWithManager registers the controller. A TargetSync is synced when it changes, when its source does, when the access to the source
// does, when somebody changes what it has made, when a DeployItem whose uninstall it may skip comes or goes, and when another TargetSync of its
// namespace does.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	r.metadata = mgr.GetCache()
	r.sources.woken = make(chan event.GenericEvent)
	if err := mgr.Add(&r.sources); err != nil {
		return fmt.Errorf("add the watches of sources: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.DeployItem{}, skipIndex, skipsUninstall); err != nil {
		return fmt.Errorf("index deploy items whose uninstall may be skipped: %w", err)
	}
	skips := predicate.NewPredicateFuncs(func(o client.Object) bool { return skipsUninstall(o) != nil })
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
	inNamespace := handler.EnqueueRequestsFromMapFunc(r.inNamespace)
	return ctrl.NewControllerManagedBy(mgr).
		Named("targetsync").
		For(&v1alpha1.TargetSync{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.TargetSync{}, inNamespace, builder.WithPredicates(comesOrGoes)).
		Watches(&v1alpha1.Target{}, later(r.inNamespace), builder.WithPredicates(predicate.NewPredicateFuncs(isMade), kit.BeyondStatus)).
		Watches(&v1alpha1.DeployItem{}, later(r.inNamespace), builder.WithPredicates(skips, predicate.Or(comesOrGoes, predicate.GenerationChangedPredicate{}))).
		WatchesMetadata(&corev1.Secret{}, later(r.of), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesRawSource(source.Channel(r.sources.woken, later(itself))).
		WithOptions(fair.Options(concurrency, nil)).
		Complete(r)
}

// comesOrGoes passes the events that decide whether a TargetSync is alone.
var comesOrGoes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// later returns a handler that gathers events for gatherTime.
func later(requests handler.MapFunc) handler.EventHandler {
	add := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], objects ...client.Object) {
		for _, object := range objects {
			for _, request := range requests(ctx, object) {
				queue.AddAfter(request, gatherTime)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q, e.Object)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q, e.Object)
		},
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q, e.Object)
		},
	}
}

func itself(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// inNamespace returns the TargetSyncs of the namespace of an object.
func (r *Reconciler) inNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	return r.those(ctx, object, func(*v1alpha1.TargetSync) bool { return true })
}

// of returns the TargetSyncs that have made a Secret, or that reach their source with it.
func (r *Reconciler) of(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.those(ctx, secret, func(sync *v1alpha1.TargetSync) bool {
		return isMade(secret) || sync.Spec.SecretRef.Name == secret.GetName()
	})
}

// those returns the TargetSyncs of the namespace of an object that concern selects. There is one, rarely more.
func (r *Reconciler) those(ctx context.Context, object client.Object, concern func(*v1alpha1.TargetSync) bool) []reconcile.Request {
	list := &v1alpha1.TargetSyncList{}
	if err := r.List(ctx, list, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the TargetSyncs of a namespace", "namespace", object.GetNamespace())
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if sync := &list.Items[i]; concern(sync) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: sync.Namespace, Name: sync.Name}})
		}
	}
	return requests
}
