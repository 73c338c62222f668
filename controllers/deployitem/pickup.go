// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package deployitem ends jobs of DeployItems in place of their deployers: those that no deployer picks up, those of items without an Execution that
// somebody interrupts, and those of items whose type somebody has changed. Of these it lets go in a deletion what is to be left on the target. It promises
// nothing to others.
package deployitem

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// Reconciler ends jobs of DeployItems that no deployer has picked up in time, that somebody interrupts, or whose type somebody changes.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Live reads from the API server: Leases whose time is over, and who keeps an operation.
	Live client.Reader
	// Recorder writes events.
	Recorder record.EventRecorder
	// PickupTimeout is the time a deployer has to begin a job; 0 means no limit.
	PickupTimeout time.Duration
	// Now is the clock.
	Now func() time.Time
	// Shard holds the DeployItems that the process watches over.
	Shard protocol.Shard
	// Environments says that DeployItems wait while the agent of their Environment is not connected: no time counts then.
	Environments bool
	// Homes are the namespaces of Environments, which say whose DeployItems wait.
	Homes pair.Homes
	// Leases is the namespace of the Leases by which deployers say that they are alive; empty where the process sees none. An item whose deployer is
	// alive waits for it without limit.
	Leases string

	items     protocol.Consistency
	sightings sightings
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	blder := ctrl.NewControllerManagedBy(mgr).
		Named("deployitem-pickup").
		For(&v1alpha1.DeployItem{}).
		WithOptions(queue.Options(concurrency, 0))
	if r.Leases != "" && r.PickupTimeout > 0 {
		blder = blder.Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(r.sight), builder.WithPredicates(predicate.NewPredicateFuncs(r.isOfDeployer)))
	}
	if r.Environments {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.DeployItem{}, targetIndex, targetOf); err != nil {
			return fmt.Errorf("index deploy items by target: %w", err)
		}
		blder = blder.Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(r.itemsOf), builder.WithPredicates(connectionChanged))
	}
	return blder.Complete(r)
}

// Reconcile fails the job of one DeployItem when somebody interrupts it, when its type was changed, or when its time for pick-up is over, and otherwise looks
// again at that instant. An item of another type that is to be deleted without uninstalling goes.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	item := &v1alpha1.DeployItem{}
	if err := r.Get(ctx, req.NamespacedName, item); err != nil {
		r.items.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(item) || r.items.Stale(item) {
		return ctrl.Result{}, nil
	}
	if left, err := r.leaveOtherType(ctx, item); left || err != nil {
		return ctrl.Result{}, err
	}
	err := r.interrupt(ctx, item)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil // the event of what came in between follows
	}
	if err != nil || item.Status.IsIdle() {
		return ctrl.Result{}, err
	}
	if ended, err := r.endOtherType(ctx, item); ended || err != nil {
		return ctrl.Result{}, err
	}
	env, err := r.environmentOf(ctx, item)
	if err != nil {
		return ctrl.Result{}, err
	}
	if waits, err := r.awaitAgent(ctx, item, env); waits || err != nil {
		return ctrl.Result{}, err
	}
	if err := r.tellGone(ctx, item, env); err != nil {
		return ctrl.Result{}, err
	}
	requested := item.Status.JobIDGenerationTime
	if r.PickupTimeout <= 0 || requested == nil || item.IsPickedUp() {
		return ctrl.Result{}, nil
	}
	now := r.Now()
	if left := waitsSince(requested.Time, env, now).Add(r.PickupTimeout).Sub(now); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	switch served, again, err := r.isServed(ctx, item, env); {
	case err != nil:
		return ctrl.Result{}, err
	case served:
		return ctrl.Result{RequeueAfter: again}, r.awaitDeployer(ctx, item)
	}
	return ctrl.Result{}, r.fail(ctx, item, r.failure(ctx, item, env))
}

// fail ends the running job, unless its deployer has just written to it: the event of that follows.
func (r *Reconciler) fail(ctx context.Context, item *v1alpha1.DeployItem, failure *protocol.Failure) error {
	now := r.Now()
	protocol.Fail(item, failure, now)
	switch err := protocol.WriteItemStatus(ctx, r.Client, item, now, &r.items); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	r.Recorder.AnnotatedEventf(item, notify.Once(item.Status.JobID), corev1.EventTypeWarning, failure.Reason, "%s", failure.Error())
	return nil
}

// awaitDeployer shows once that an item waits for a deployer that is alive.
func (r *Reconciler) awaitDeployer(ctx context.Context, item *v1alpha1.DeployItem) error {
	if conditions.GetReason(item, meta.ReconcilingCondition) == protocol.ReasonDeployerBusy {
		return nil
	}
	protocol.Progress(item, protocol.ReasonDeployerBusy, fmt.Sprintf(
		"a deployer for type %s is alive and has not begun this job within %s; it waits for its turn, see --concurrent of the deployer", item.Spec.Type, r.PickupTimeout))
	err := protocol.WriteItemStatus(ctx, r.Client, item, r.Now(), &r.items)
	if apierrors.IsConflict(err) {
		return nil // the event of what came in between follows
	}
	return client.IgnoreNotFound(err)
}

// targetObject returns the Target of an item, nil without one.
func (r *Reconciler) targetObject(ctx context.Context, item *v1alpha1.DeployItem) (*v1alpha1.Target, error) {
	if item.Spec.Target == nil {
		return nil, nil
	}
	target := &v1alpha1.Target{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}, target); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return target, nil
}

// failure says that nobody came, and what may be the reason. The Environment of the item may be nil.
func (r *Reconciler) failure(ctx context.Context, item *v1alpha1.DeployItem, env *v1alpha1.Environment) *protocol.Failure {
	return &protocol.Failure{
		Kind: protocol.Stalled, Operation: "WaitingForPickup", Reason: "PickupTimeout", Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorTimeout},
		Err: fmt.Errorf("no deployer has reconciled this deployitem within %d seconds; run a deployer for type %s%s",
			int(r.PickupTimeout.Seconds()), item.Spec.Type, r.aboutTarget(ctx, item, env)),
	}
}

// aboutTarget says what is wrong with the Target of an item; empty is nothing.
func (r *Reconciler) aboutTarget(ctx context.Context, item *v1alpha1.DeployItem, env *v1alpha1.Environment) string {
	if item.Spec.Target == nil {
		return ""
	}
	key, target := client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}, &v1alpha1.Target{}
	if err := r.Get(ctx, key, target); apierrors.IsNotFound(err) {
		return fmt.Sprintf(" (Target %s does not exist; create it)", key)
	}
	if env != nil {
		return ""
	}
	about, err := r.aboutEnvironment(ctx, item)
	if about == "" || err != nil {
		return ""
	}
	return " (" + about + ")"
}

// interrupt ends the job of an item without an Execution in place of its deployer, as the protocol says, and only then forgets the operation: whoever
// waits until no operation is left and the job has ended never sees the result of another job. An operation that Flux keeps stays, because Flux would put
// it back at every sync; the status says so as long as it is there. One that has left Git and that somebody has set by hand since, also while nobody
// looked, is another one.
func (r *Reconciler) interrupt(ctx context.Context, item *v1alpha1.DeployItem) error {
	switch isAsked := item.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt; {
	case item.Annotations[v1alpha1.IgnoreAnnotation] == "true":
		return nil
	case !isAsked && protocol.IsInterruptKnown(item):
		conditions.Delete(item, protocol.OperationInGitCondition)
		return protocol.WriteItemStatus(ctx, r.Client, item, r.Now(), &r.items)
	case !isAsked || protocol.ControllerOf(item, "Execution") != nil:
		return nil
	}
	isKept, err := protocol.IsAppliedByFlux(ctx, r.Live, item, "DeployItem", v1alpha1.OperationAnnotation)
	if err != nil || isKept && protocol.IsInterruptKnown(item) {
		return err
	}
	if err := r.end(ctx, item, isKept); err != nil || isKept {
		return err
	}
	before := item.ResourceVersion
	err = protocol.PatchMetadata(ctx, r.Client, item, protocol.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
	if err == nil && item.ResourceVersion != before {
		r.items.Wrote(item)
	}
	return err
}

// end writes that the running job was interrupted, and that the operation is kept in Git.
func (r *Reconciler) end(ctx context.Context, item *v1alpha1.DeployItem, isKept bool) error {
	runs := !item.Status.IsIdle()
	if !runs && !isKept {
		return nil
	}
	failure := protocol.Interrupted()
	if runs {
		protocol.Fail(item, failure, r.Now())
	}
	if protocol.IsInterruptKnown(item) {
		conditions.Delete(item, protocol.OperationInGitCondition)
	}
	if isKept {
		conditions.MarkTrue(item, protocol.OperationInGitCondition, protocol.ReasonInterruptInGit, "%s", protocol.InterruptInGitMessage)
	}
	if err := protocol.WriteItemStatus(ctx, r.Client, item, r.Now(), &r.items); err != nil {
		return err
	}
	if runs {
		r.Recorder.AnnotatedEventf(item, notify.Once(item.Status.JobID), corev1.EventTypeWarning, failure.Reason, "%s", failure.Error())
	}
	if isKept {
		r.Recorder.Event(item, corev1.EventTypeWarning, protocol.ReasonInterruptInGit, protocol.InterruptInGitMessage)
	}
	return nil
}

// endOtherType ends the running job of an item whose type somebody has changed, and reports whether there was one: the deployers of the former type leave
// the item alone from then on, also in the middle of a job, and of the new type there may be none.
func (r *Reconciler) endOtherType(ctx context.Context, item *v1alpha1.DeployItem) (ended bool, err error) {
	former := protocol.FormerType(item)
	if former == "" || item.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		return false, nil
	}
	failure := &protocol.Failure{Kind: protocol.Stalled, Operation: "reconcilePrivate", Reason: "TypeChanged", Err: protocol.TypeChanged(item, former)}
	item.Status.ObservedGeneration = item.Generation
	return true, r.fail(ctx, item, failure)
}

// leaveOtherType lets an item in deletion go that somebody has given another type, once it is asked to leave what was deployed, and reports whether it
// has: a deployer of the new type may live nowhere, and nothing of the target is needed. It waits for no job, because a deployer would have to give one.
func (r *Reconciler) leaveOtherType(ctx context.Context, item *v1alpha1.DeployItem) (left bool, err error) {
	isAsked := !item.DeletionTimestamp.IsZero() && item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] == "true"
	if !isAsked || protocol.FormerType(item) == "" || item.Annotations[v1alpha1.IgnoreAnnotation] == "true" || !slices.Contains(item.Finalizers, v1alpha1.Finalizer) {
		return false, nil
	}
	err = protocol.PatchMetadata(ctx, r.Client, item, protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return true, nil // the event of what came in between follows
	case err == nil:
		r.items.Wrote(item)
	}
	return true, err
}
