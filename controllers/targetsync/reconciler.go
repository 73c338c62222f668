// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package targetsync makes Targets for the clusters that another cluster knows, the source: from Secrets with kubeconfigs, or from Gardener
// Shoots. Whatever it makes carries a label; nothing without that label is changed or deleted.
package targetsync

import (
	"context"
	"fmt"
	"regexp"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
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
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// passTime bounds one sync: a source that answers slowly costs no more than that of a worker's time.
const passTime = 2 * time.Minute

// Reconciler brings the Targets of a namespace to what the source cluster of its TargetSync says.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder writes events.
	Recorder record.EventRecorder
	// Clusters opens source clusters.
	Clusters *target.Clients
	// Shard selects the TargetSyncs that this process brings on.
	Shard protocol.Shard
	// Backoff says when to try again after a failure.
	Backoff *queue.Backoff
	// Now is the clock.
	Now func() time.Time

	// metadata reads Secrets from the cache of metadata.
	metadata client.Reader
	sources  sources
	// copies are the states, by the name of the copy, in which a Secret of a source and its copy were found equal.
	copies *lru.Cache[types.NamespacedName, string]
}

// scope is one sync.
type scope struct {
	sync      *v1alpha1.TargetSync
	persisted *v1alpha1.TargetSyncStatus
	now       time.Time
	// pattern selects the names to sync; nil selects none.
	pattern *regexp.Regexp
	// secret holds the access to the source, which is opened as source.
	source *target.Cluster
	access access
	// wanted are the clusters that the source knows, by the name of their Target.
	wanted map[string]*wanted
	// bytes is what the Secrets in wanted hold.
	bytes int
	// unusable counts the Secrets of the source that match and hold no kubeconfig, and names the first of them.
	unusable      int
	unusableNames []string
	// problems are why single Targets could not be synced; the others are.
	problems []error
	// changes says what the sync has done.
	changes changes
	// requeue is when the next kubeconfig or token has to be renewed; zero is never.
	requeue time.Duration
}

// Reconcile syncs the Targets of one TargetSync.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	sync := &v1alpha1.TargetSync{}
	if err := r.Get(ctx, req.NamespacedName, sync); err != nil {
		r.leave(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(sync) || sync.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		r.leave(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	s := &scope{sync: sync, persisted: sync.Status.DeepCopy(), now: r.Now(), wanted: map[string]*wanted{}}
	bounded, cancel := context.WithTimeout(ctx, passTime)
	defer cancel()
	err := protocol.Run(bounded, s, []protocol.Step[*scope]{
		r.uninstall, r.checkAlone, r.checkSuspended, checkSpec, r.protect, r.openSource, r.rotateToken, r.follow,
		gatherSecrets, gatherShoots, r.skipUninstalls, gatherSource, r.write, r.prune,
	})
	return r.settle(ctx, s, err)
}

// leave ends what the process does for a TargetSync.
func (r *Reconciler) leave(key types.NamespacedName) {
	r.sources.leave(key)
	r.Backoff.Forget(key)
}

// gatherTime is how long changes are gathered before one sync for all of them: a sync reads everything that matches.
const gatherTime = 500 * time.Millisecond

// rememberedCopies is of how many Secrets it is remembered that they equal their original.
const rememberedCopies = 1 << 14

// SetupWithManager registers the controller. A TargetSync is synced when it changes, when its source does, when the access to the source
// does, when somebody changes what it has made, when a DeployItem whose uninstall it may skip comes or goes, and when another TargetSync of its
// namespace does.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) (err error) {
	r.metadata = mgr.GetCache()
	r.sources.woken = make(chan event.GenericEvent)
	if r.copies, err = lru.New[types.NamespacedName, string](rememberedCopies); err != nil {
		return err
	}
	if err := mgr.Add(&r.sources); err != nil {
		return fmt.Errorf("add the watches of sources: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.DeployItem{}, skipIndex, skipsUninstall); err != nil {
		return fmt.Errorf("index deploy items whose uninstall may be skipped: %w", err)
	}
	skips := predicate.NewPredicateFuncs(func(o client.Object) bool { return skipsUninstall(o) != nil })
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		Named("targetsync").
		For(&v1alpha1.TargetSync{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.TargetSync{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace), builder.WithPredicates(comesOrGoes)).
		Watches(&v1alpha1.Target{}, gathered(r.inNamespace), builder.WithPredicates(predicate.NewPredicateFuncs(isMade), protocol.BeyondStatus)).
		Watches(&v1alpha1.DeployItem{}, gathered(r.inNamespace), builder.WithPredicates(skips, predicate.Or(comesOrGoes, predicate.GenerationChangedPredicate{}))).
		WatchesMetadata(&corev1.Secret{}, gathered(r.ofSecret), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesRawSource(source.Channel(r.sources.woken, gathered(itself))).
		WithOptions(queue.Options(concurrency, 0)).
		Complete(r)
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

// gathered returns a handler that gathers events for gatherTime.
func gathered(requests handler.MapFunc) handler.EventHandler {
	add := func(ctx context.Context, queue requestQueue, object client.Object) {
		for _, request := range requests(ctx, object) {
			queue.AddAfter(request, gatherTime)
		}
	}
	return handler.Funcs{
		CreateFunc:  func(ctx context.Context, e event.CreateEvent, q requestQueue) { add(ctx, q, e.Object) },
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, q requestQueue) { add(ctx, q, e.Object) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q requestQueue) { add(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requestQueue) {
			add(ctx, q, e.ObjectOld)
			add(ctx, q, e.ObjectNew)
		},
	}
}

func itself(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// inNamespace returns the TargetSyncs of the namespace of an object. There is one, rarely more.
func (r *Reconciler) inNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	return r.selected(ctx, object, func(*v1alpha1.TargetSync) bool { return true })
}

// ofSecret returns the TargetSyncs that have made a Secret, or reach their source with it.
func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.selected(ctx, secret, func(sync *v1alpha1.TargetSync) bool {
		return isMade(secret) || sync.Spec.SecretRef.Name == secret.GetName()
	})
}

func (r *Reconciler) selected(ctx context.Context, object client.Object, selects func(*v1alpha1.TargetSync) bool) (requests []reconcile.Request) {
	list := &v1alpha1.TargetSyncList{}
	if err := r.List(ctx, list, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the TargetSyncs that an event concerns", "object", client.ObjectKeyFromObject(object))
	}
	for i := range list.Items {
		if selects(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
