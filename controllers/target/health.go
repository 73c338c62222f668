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
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	deploytarget "github.com/flux-landscaper/flux-landscaper/deployers/target"
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
	Shard protocol.Shard
	// Backoff says when to try again what the API server refused.
	Backoff *queue.Backoff
	// Jitter makes intervals longer, so that Targets of one interval do not all come at the same instant.
	Jitter queue.Jitter
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
		WithOptions(queue.Options(checks, 0)).
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
	err := fault.Survived(ctx, func() (err error) {
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
	const anywhere = queue.Jitter(99)
	return &visit{state: now, next: r.Now().Add(anywhere.Spread(half, string(target.UID)))}
}

// pause returns how long to wait after a number of checks that failed one after the other.
func (r *HealthReconciler) pause(target *v1alpha1.Target) func(failures int) time.Duration {
	return func(failures int) time.Duration {
		seed := fmt.Sprintf("%s/%d", target.UID, r.Now().UnixNano())
		return r.Jitter.Delay(pauseAfter(target.Spec.HealthCheck.Interval.Duration, failures), seed)
	}
}

const (
	// minInterval is the shortest interval of checks, as the schema says.
	minInterval = time.Minute
	// restTime is the least time between two checks of a Target, however often it or its Secret changes.
	restTime = 5 * time.Second
	// maxDoublings is how often the interval doubles while checks fail one after the other.
	maxDoublings = 3
)

// state is what the outcome of a check depends on, as far as the landscaper cluster knows.
type state struct {
	uid        types.UID
	generation int64
	requested  string
	// secret is the Secret with the content, and its version.
	secret string
}

// pauseAfter returns the time from one check to the next, after a number of checks that failed one after the other.
func pauseAfter(interval time.Duration, failures int) time.Duration {
	doublings := max(min(failures-1, maxDoublings), 0)
	return max(interval, minInterval) << doublings
}

// visit is what the process knows about the checks of one Target. It belongs to the worker of that.
type visit struct {
	// state is that of the last check, which began at began.
	state state
	began time.Time
	// found is what a check has found out and nobody has written yet.
	found *finding
	// next is when the clock starts the next check.
	next     time.Time
	failures int
}

// take returns what a check has found out, if the Target still is as it was then. Its Secret need not be: the next check is of that.
func (v *visit) take(now state) *finding {
	found := v.found
	v.found = nil
	now.secret = v.state.secret
	if found == nil || v.state != now {
		return nil
	}
	return found
}

// schedule plans the next check after one whose outcome is written.
func (v *visit) schedule(now time.Time, found *finding, pause func(failures int) time.Duration) {
	if v.failures++; found.problem == nil {
		v.failures = 0
	}
	v.next = now.Add(pause(v.failures))
}

// begin reports whether a check of the present state begins now, and else how long to wait for it.
func (v *visit) begin(now time.Time, present state) (wait time.Duration, begins bool) {
	due := v.next
	if v.state != present {
		due = v.began.Add(restTime)
	}
	if wait := due.Sub(now); wait > 0 {
		return wait, false
	}
	v.state, v.began = present, now
	return 0, true
}

// reasonType says that a Target is of a type that cannot be checked.
const reasonType = "TypeNotSupported"

// healthyMessage is that of a Target whose cluster answers.
const healthyMessage = "The cluster answers and accepts the credentials"

// finding is what a check has found out; without a problem the cluster is well.
type finding struct {
	health  deploytarget.Health
	problem *deploytarget.Error
	// typeProblem is why there is nothing to check.
	typeProblem string
}

// uncheckable returns what there is to show of a Target that is not checked: nothing, or that it asks for a check that there is not.
func uncheckable(target *v1alpha1.Target) *finding {
	if target.Spec.HealthCheck == nil {
		return nil
	}
	return &finding{typeProblem: fmt.Sprintf("Only Targets of type %s can be checked; remove spec.healthCheck", v1alpha1.KubernetesClusterTargetType)}
}

// show writes what was found out about a Target; nil leaves the status empty. Nothing is written where nothing but the time would change.
func (r *HealthReconciler) show(ctx context.Context, target *v1alpha1.Target, found *finding) error {
	persisted := target.Status.DeepCopy()
	if found == nil {
		target.Status = v1alpha1.TargetStatus{}
	} else {
		found.observe(target)
	}
	if equality.Semantic.DeepEqual(persisted, &target.Status) {
		return nil
	}
	if found != nil {
		target.Status.LastChecked = &metav1.Time{Time: r.Now()}
	}
	if err := r.Status().Update(ctx, target); err != nil {
		return err
	}
	r.announce(target, persisted)
	return nil
}

// announce tells when a Target becomes Ready and when it ceases to be.
func (r *HealthReconciler) announce(target *v1alpha1.Target, persisted *v1alpha1.TargetStatus) {
	ready := conditions.Get(target, meta.ReadyCondition)
	before := conditions.Get(&v1alpha1.Target{Status: *persisted}, meta.ReadyCondition)
	if ready == nil || before != nil && before.Status == ready.Status {
		return
	}
	kind := corev1.EventTypeWarning
	if ready.Status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	r.Recorder.AnnotatedEventf(target, notify.Once(notify.Since(ready)), kind, ready.Reason, "%s", ready.Message)
}

// observe puts the finding into the status of a Target.
func (f *finding) observe(target *v1alpha1.Target) {
	status := &target.Status
	protocol.KeepValidConditions(target)
	isSameSpec := status.ObservedGeneration == target.Generation
	status.ObservedGeneration = target.Generation
	if requested, ok := meta.ReconcileAnnotationValue(target.Annotations); ok {
		status.LastHandledReconcileAt = requested
	}
	status.Identity, status.Version = f.health.User, f.health.Version
	switch {
	case f.typeProblem != "":
		stall(target, reasonType, f.typeProblem)
	case f.problem == nil:
		conditions.Delete(target, meta.ReconcilingCondition)
		conditions.Delete(target, meta.StalledCondition)
		conditions.MarkTrue(target, meta.ReadyCondition, meta.SucceededReason, healthyMessage)
	case len(f.problem.Codes) > 0:
		stall(target, f.problem.Reason, protocol.Message(f.problem.Error()))
	default:
		f.retry(target, isSameSpec)
	}
}

// stall shows that a person has to change the Target. Whether a cluster answers that was not asked is unknown.
func stall(target *v1alpha1.Target, reason, message string) {
	conditions.Delete(target, meta.ReconcilingCondition)
	if reason == deploytarget.ReasonNoTokens {
		conditions.Delete(target, meta.StalledCondition)
		conditions.MarkUnknown(target, meta.ReadyCondition, reason, "%s", message)
		return
	}
	conditions.MarkStalled(target, reason, "%s", message)
	conditions.MarkFalse(target, meta.ReadyCondition, reason, "%s", message)
}

// retry shows that the next check may go well. The words of one reason stay while the spec does: those of networks and of servers may differ
// each time.
func (f *finding) retry(target *v1alpha1.Target, isSameSpec bool) {
	message := protocol.Message(f.problem.Error())
	if shown := conditions.Get(target, meta.ReadyCondition); isSameSpec && shown != nil && shown.Reason == f.problem.Reason {
		message = shown.Message
	}
	conditions.Delete(target, meta.StalledCondition)
	conditions.MarkReconciling(target, meta.ProgressingWithRetryReason, "%s", message)
	conditions.MarkFalse(target, meta.ReadyCondition, f.problem.Reason, "%s", message)
}
