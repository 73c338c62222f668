// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/fairqueue"
	deploytarget "github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
)

const (
	// checkTime bounds one check of a cluster.
	checkTime = 15 * time.Second
	// checks is how many clusters are asked at a time.
	checks = 8
)

// Clusters asks clusters how they are; see Clients of deployers/target.
type Clusters interface {
	// CheckHealth asks the cluster of a Target. An error of type *Error of deployers/target is about the Target.
	CheckHealth(ctx context.Context, live client.Reader, target *v1alpha1.Target) (deploytarget.Health, error)
}

// HealthReconciler shows in the status of Targets with spec.healthCheck whether their clusters answer. It needs the indexes of Reconciler.
type HealthReconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder writes events.
	Recorder record.EventRecorder
	// Clusters are asked.
	Clusters Clusters
	// Shard selects the Targets that this process checks.
	Shard kit.Shard
	// Backoff says when to try again what the API server refused.
	Backoff *kit.Backoff
	// Jitter makes intervals longer, so that Targets of one interval do not all come at the same instant.
	Jitter kit.Jitter
	// Now is the clock.
	Now func() time.Time

	// metadata reads Secrets from the cache of metadata.
	metadata client.Reader
	// visits are what is known of the checks of each Target, by its name.
	visits sync.Map
}

// SetupWithManager registers the controller. A Target is checked when its interval is over, when its spec or the Secret that it names changes,
// and when somebody asks for it.
func (r *HealthReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.metadata = mgr.GetCache()
	return ctrl.NewControllerManagedBy(mgr).
		Named("target-health").
		For(&v1alpha1.Target{}, builder.WithPredicates(checkChanged)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.checkedBy), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(fairqueue.Options(checks, 0)).
		Complete(r)
}

// checkChanged passes on the events of Targets that are checked, or show that they were, but not those of updates of the status.
var checkChanged = predicate.And(
	predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}),
	predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return isChecked(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return isChecked(e.ObjectOld) || isChecked(e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return isChecked(e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return isChecked(e.Object) },
	},
)

// isChecked reports whether a Target asks for checks, or shows what one has found.
func isChecked(object client.Object) bool {
	target, ok := object.(*v1alpha1.Target)
	return ok && (target.Spec.HealthCheck != nil || !equality.Semantic.DeepEqual(target.Status, v1alpha1.TargetStatus{}))
}

// checkedBy returns the Targets that name a Secret and are checked.
func (r *HealthReconciler) checkedBy(ctx context.Context, secret client.Object) []reconcile.Request {
	list := &v1alpha1.TargetList{}
	key := client.MatchingFields{contentIndex: "Secret/" + secret.GetName()}
	if err := r.List(ctx, list, client.InNamespace(secret.GetNamespace()), key, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Targets that name a Secret", "secret", client.ObjectKeyFromObject(secret))
	}
	var names []string
	for i := range list.Items {
		if list.Items[i].Spec.HealthCheck != nil {
			names = append(names, list.Items[i].Name)
		}
	}
	return requests(secret.GetNamespace(), names)
}

// Reconcile checks a Target when that is due, and writes what the check has found out.
func (r *HealthReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	target := &v1alpha1.Target{}
	if err := r.Get(ctx, req.NamespacedName, target); err != nil {
		r.forget(req)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(target) || !target.DeletionTimestamp.IsZero() {
		r.forget(req)
		return ctrl.Result{}, nil
	}
	if !isCheckable(target) {
		r.visits.Delete(req.NamespacedName)
		return ended(ctx, r.Backoff, req, r.show(ctx, target, uncheckable(target))), nil
	}
	state, err := r.stateOf(ctx, target)
	if err != nil {
		return ended(ctx, r.Backoff, req, err), nil
	}
	known, _ := r.visits.LoadOrStore(req.NamespacedName, r.firstVisit(target, state))
	visit := known.(*visit)
	if found := visit.take(state); found != nil {
		if err := r.show(ctx, target, found); err != nil {
			visit.found = found
			return ended(ctx, r.Backoff, req, err), nil
		}
		visit.schedule(r.Now(), found, r.pause(target))
		r.Backoff.Forget(req.NamespacedName)
	}
	wait, begins := visit.begin(r.Now(), state)
	if !begins {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	r.check(ctx, req, target, visit)
	return r.Reconcile(ctx, req) // with the Target as it is now
}

// forget drops what is known of a Target.
func (r *HealthReconciler) forget(req ctrl.Request) {
	r.visits.Delete(req.NamespacedName)
	r.Backoff.Forget(req.NamespacedName)
}

// isCheckable reports whether a Target asks for a check that there is.
func isCheckable(target *v1alpha1.Target) bool {
	return target.Spec.HealthCheck != nil && target.Spec.Type == v1alpha1.KubernetesClusterTargetType
}

// check asks the cluster of a Target. A library that panics over an answer is trouble of our own.
func (r *HealthReconciler) check(ctx context.Context, req ctrl.Request, target *v1alpha1.Target, visit *visit) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var health deploytarget.Health
	err := rescue.Survived(ctx, func() (err error) {
		health, err = r.Clusters.CheckHealth(ctx, r.Live, target)
		return err
	})
	var problem *deploytarget.Error
	if err != nil && !errors.As(err, &problem) {
		visit.next = r.Now().Add(r.Backoff.After(req.NamespacedName, err))
	} else {
		visit.found = &finding{health: health, problem: problem}
	}
}

// stateOf returns what a check of a Target depends on.
func (r *HealthReconciler) stateOf(ctx context.Context, target *v1alpha1.Target) (state, error) {
	requested, _ := meta.ReconcileAnnotationValue(target.Annotations)
	now := state{uid: target.UID, generation: target.Generation, requested: requested}
	if target.Spec.SecretRef == nil {
		return now, nil
	}
	secret, err := contents[0].content(ctx, r.metadata, client.ObjectKey{Namespace: target.Namespace, Name: target.Spec.SecretRef.Name})
	if err == nil {
		now.secret = string(secret.UID) + "/" + secret.ResourceVersion
	}
	return now, client.IgnoreNotFound(err)
}

// firstVisit is what the process knows of a Target that it has not checked yet. One that an earlier process has checked is checked some time
// within its interval, so that a process that starts does not ask all clusters at once.
func (r *HealthReconciler) firstVisit(target *v1alpha1.Target, now state) *visit {
	status := target.Status
	if status.ObservedGeneration != target.Generation || status.LastHandledReconcileAt != now.requested || len(status.Conditions) == 0 {
		return &visit{}
	}
	half := target.Spec.HealthCheck.Interval.Duration / 2
	const anywhere = kit.Jitter(99)
	return &visit{state: now, next: r.Now().Add(anywhere.Spread(half, string(target.UID)))}
}

// pause returns how long to wait after a number of checks that failed one after the other.
func (r *HealthReconciler) pause(target *v1alpha1.Target) func(failures int) time.Duration {
	return func(failures int) time.Duration {
		seed := fmt.Sprintf("%s/%d", target.UID, r.Now().UnixNano())
		return r.Jitter.Delay(pauseAfter(target.Spec.HealthCheck.Interval.Duration, failures), seed)
	}
}
