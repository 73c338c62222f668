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
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/fairqueue"
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
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.TargetSync{}, sourceIndex, secretOf); err != nil {
		return fmt.Errorf("index TargetSyncs by the Secret of their source: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.TargetSync{}, stayingIndex, staying); err != nil {
		return fmt.Errorf("index TargetSyncs that are not in deletion: %w", err)
	}
	skips := predicate.NewPredicateFuncs(func(o client.Object) bool { return skipsUninstall(o) != nil })
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		Named("targetsync").
		For(&v1alpha1.TargetSync{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.TargetSync{}, after(0, inNamespace), builder.WithPredicates(comesOrGoes)).
		Watches(&v1alpha1.Target{}, after(gatherTime, inNamespace), builder.WithPredicates(predicate.NewPredicateFuncs(isMade), kit.BeyondStatus)).
		Watches(&v1alpha1.DeployItem{}, after(gatherTime, inNamespace), builder.WithPredicates(skips, predicate.Or(comesOrGoes, predicate.GenerationChangedPredicate{}))).
		WatchesMetadata(&corev1.Secret{}, after(gatherTime, r.of), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesRawSource(source.Channel(r.sources.woken, after(gatherTime, itself))).
		WatchesRawSource(source.Func(r.keepQueue)).
		WithOptions(fairqueue.Options(concurrency, 0)).
		Complete(r)
}

// keepQueue keeps the queue that a worker adds the TargetSyncs of a namespace to. It is called before any worker begins.
func (r *Reconciler) keepQueue(_ context.Context, queue requestQueue) error {
	r.queue = queue
	return nil
}

// comesOrGoes passes the events that decide whether a TargetSync is alone.
var comesOrGoes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// requestQueue is the queue of the controller.
type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// after returns a handler that gathers events for a time.
func after(gathered time.Duration, requests handler.MapFunc) handler.EventHandler {
	add := func(ctx context.Context, queue requestQueue, objects ...client.Object) {
		for _, object := range objects {
			for _, request := range requests(ctx, object) {
				queue.AddAfter(request, gathered)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requestQueue) {
			add(ctx, q, e.Object)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requestQueue) {
			add(ctx, q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requestQueue) {
			add(ctx, q, e.Object)
		},
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q requestQueue) {
			add(ctx, q, e.Object)
		},
	}
}

func itself(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// inNamespace returns the request that has a worker wake all TargetSyncs of the namespace of an object. Events of all namespaces come one after the
// other, so that none may look for them itself.
func inNamespace(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace()}}}
}

// of returns the request for the namespace of a Secret that a TargetSync has made, or reaches its source with.
func (r *Reconciler) of(ctx context.Context, secret client.Object) []reconcile.Request {
	if isMade(secret) || r.isNamed(ctx, secret) {
		return inNamespace(ctx, secret)
	}
	return nil
}

// sourceIndex finds the TargetSyncs that reach their source with a Secret.
const sourceIndex = "target-sync-source"

func secretOf(object client.Object) []string {
	if sync, ok := object.(*v1alpha1.TargetSync); ok {
		return []string{sync.Spec.SecretRef.Name}
	}
	return nil
}

// stayingIndex finds the TargetSyncs that are not in deletion.
const stayingIndex = "target-sync-staying"

func staying(object client.Object) []string {
	if object.GetDeletionTimestamp().IsZero() {
		return []string{"true"}
	}
	return nil
}

// isNamed reports whether a TargetSync reaches its source with a Secret, also where that cannot be found out.
func (r *Reconciler) isNamed(ctx context.Context, secret client.Object) bool {
	list := &v1alpha1.TargetSyncList{}
	err := r.List(ctx, list, client.InNamespace(secret.GetNamespace()), client.MatchingFields{sourceIndex: secret.GetName()},
		client.Limit(1), client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the TargetSyncs that name a Secret", "secret", client.ObjectKeyFromObject(secret))
	}
	return err != nil || len(list.Items) > 0
}

// wakeAll wakes the TargetSyncs of a namespace. There is one, rarely more.
func (r *Reconciler) wakeAll(ctx context.Context, namespace string) error {
	list := &v1alpha1.TargetSyncList{}
	if err := r.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("find the TargetSyncs of namespace %s: %w", namespace, err)
	}
	for i := range list.Items {
		r.queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return nil
}
