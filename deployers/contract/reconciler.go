// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// conflictPause is how long to wait for the cache after a write met a newer object.
const conflictPause = 100 * time.Millisecond

// reconciler carries out the DeployItems of one deployer.
type reconciler struct {
	client   client.Client
	live     client.Reader
	deployer Deployer
	options  Options
	// itemsByTarget, itemsByContext and itemsBySource are the names of the field indexes of DeployItems.
	itemsByTarget, itemsByContext, itemsBySource string
	// landscaper is the landscaper cluster, for watches on single objects; nil without Options.Sources.
	landscaper *target.Cluster

	jobs    jobs
	watches watches
	asides  asides
	written kit.Consistency
	sites   sites
	hooks   Hooks
	// isHooked says that hooks of others may give items jobs.
	isHooked bool
	turns    turns
	held     heldItems
	restored *flowcontrol.Backoff
	drift    *driftDesk
	queue    workqueue.TypedRateLimitingInterface[ctrl.Request]
	phases   []kit.Phase[*scope]
}

// scope is one pass over one item.
type scope struct {
	item *v1alpha1.DeployItem
	job  *job
	// own says that the job begins without one of an Execution: the test annotation or the clock asked for it.
	own bool
	// hookErr is what hooks said before the job was known.
	hookErr error
	// opened is the target of the item, nil before it was opened.
	opened *target.Cluster
	// news is what has changed since the last call.
	news news
	// outcome and err are what the deployer answered.
	outcome Outcome
	err     error
	// called is when the deployer was called.
	called time.Time
	// isAnswered says that a call which went on without a worker has answered.
	isAnswered bool
	// requeue is when to look at the item again without an event; 0 is never.
	requeue time.Duration
	// isIdle says that the item has no job.
	isIdle bool
	// hookRequeue is when hooks want to look at the item again; 0 is never.
	hookRequeue time.Duration
	// maxTimeout is Options.MaxTimeout.
	maxTimeout time.Duration
}

func (s *scope) deleting() bool { return isDeleting(s.item) }

func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.item) }

func newReconciler(c client.Client, live client.Reader, deployer Deployer, options Options) *reconciler {
	r := &reconciler{
		client: c, live: live, deployer: deployer, options: options,
		restored: kit.NewRestorations(), itemsByTarget: deployer.Name() + "/target", itemsByContext: deployer.Name() + "/context", itemsBySource: deployer.Name() + "/source",
	}
	r.jobs.released = r.watches.release
	r.watches.wake = r.wake
	r.asides = asides{limit: options.MaxWaiting, ended: r.enqueue, detached: map[types.NamespacedName]*call{}, held: map[string]int{}}
	r.drift = newDriftDesk(r)
	r.hooks = hooksOf(deployer).add(options.Hooks)
	r.jobs.notesInterrupted = len(r.hooks[HookBeforeAbort]) > 0
	r.isHooked = len(r.hooks[HookShouldReconcile]) > 0
	r.hooks[HookShouldReconcile] = append(r.hooks[HookShouldReconcile], r.continuously, r.rollForward)
	r.phases = []kit.Phase[*scope]{
		r.hookPhase(HookStart), // hooks.go
		r.checkResponsible,     // responsibility.go  type, target and selectors → go on or leave it to another deployer
		r.hookPhase(HookAfterResponsibilityCheck),
		r.keepFinalizer,     // finalizer.go       idle item that has lost it → finalizer back
		r.takeTestRequest,   // claim.go           test annotation → a new job
		r.showDrift,         // driftshow.go       what was found on the target → condition Drifted
		r.repeat,            // continuous.go      nothing to do, hooks, clock, sources → a new job, or wait for the clock
		r.skipUninstall,     // claim.go           delete-without-uninstall → finalizer off
		r.pickUp,            // claim.go           new job → one status write
		r.forgetTestRequest, // claim.go           job that it asked for → test annotation off
		r.takeAnswer,        // call.go            call that has gone on without a worker → its answer
		r.expire,            // deadline.go        time is up → failed with the root cause
		r.idleUntilDue,      // deadline.go        nothing has changed for a waiting job → wait on
		r.protect,           // finalizer.go       item without finalizer → finalizer on
		r.call,              // call.go            target, context → Ensure or Delete
		r.leaveGone,         // targetgone.go      cluster gone → wait for it, or finalizer off
		r.report,            // report.go          outcome → exports, one status write, next wake-up
	}
	return r
}

// Reconcile brings one item on. Its errors are about the landscaper cluster; those of the work are in the item's status.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	item := &v1alpha1.DeployItem{}
	if err := r.client.Get(ctx, request.NamespacedName, item); err != nil {
		r.forget(request.NamespacedName)
		kit.ForgetDurations(ctx, r.options.Metrics, item, request.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.written.Stale(item) {
		return ctrl.Result{}, nil
	}
	if r.asides.isBusy(request.NamespacedName) {
		if !r.concerns(item) {
			r.jobs.forget(request.NamespacedName)
		}
		return ctrl.Result{}, nil // the end of the call brings the item back
	}
	if !r.concerns(item) {
		r.beforeAbort(ctx, &scope{item: item})
		r.jobs.forget(request.NamespacedName)
		r.asides.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	s := &scope{item: item, maxTimeout: r.options.MaxTimeout}
	if !r.beforeAbort(ctx, s) {
		return ctrl.Result{RequeueAfter: s.hookRequeue}, nil
	}
	return r.result(ctx, s, r.pass(ctx, s))
}

// forget stops whatever runs for an item that is gone, and drops what is known of it.
func (r *reconciler) forget(key types.NamespacedName) {
	r.jobs.forget(key)
	r.asides.forget(key)
	r.jobs.drop(key)
	r.jobs.takeInterrupted(key)
	r.turns.forget(key)
	r.releaseHeld(key)
	r.restored.Reset(key.String())
	r.written.Forget(key)
	r.sites.forget(key)
	r.drift.forget(key)
}

// pass runs the phases. When they break off, by error or panic, the deployer is called again in the next pass.
func (r *reconciler) pass(ctx context.Context, s *scope) (err error) {
	complete := false
	defer func() {
		if s.job != nil && !complete {
			s.job.wake()
		}
	}()
	err = kit.Run(ctx, s, r.phases)
	if complete = err == nil; complete {
		r.atEnd(ctx, s)
	}
	return err
}

// result turns the end of a pass into what controller-runtime is to do.
func (r *reconciler) result(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, errLost):
		r.abort(ctx, s)
		r.jobs.forget(s.key())
		return ctrl.Result{}, nil
	case apierrors.IsNotFound(err):
		r.jobs.forget(s.key())
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	case ctx.Err() != nil:
		return ctrl.Result{}, nil
	}
	result := ctrl.Result{RequeueAfter: sooner(s.requeue, s.hookRequeue)}
	if s.isIdle {
		result.Priority = new(handler.LowPriority) // nobody waits for what the clock starts; every event counts more
	}
	return result, err
}

// stopAfter ends the pass.
func stopAfter(err error) error {
	if err != nil {
		return err
	}
	return kit.ErrStop
}

func isDeleting(item *v1alpha1.DeployItem) bool { return !item.DeletionTimestamp.IsZero() }

// concerns reports whether there may be something to do for an item; it reads nothing.
func (r *reconciler) concerns(item *v1alpha1.DeployItem) bool {
	switch {
	case item.Spec.Type != r.deployer.Type(), item.Annotations[v1alpha1.IgnoreAnnotation] == "true":
		return false
	case isDeleting(item) && !controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer):
		return false
	}
	return !item.Job().IsIdle() || isTestRequested(item) || isGuarded(item) || r.isRepeated(item) || r.drift.hasNews(item) ||
		lacksFinalizer(item, r.deployer.Name())
}

// wake brings the job back to a worker because something it waits for has changed.
func (r *reconciler) wake(j *job, changed ...watchKey) {
	j.wake(changed...)
	r.enqueue(j.key)
}

// enqueue brings an item to a worker.
func (r *reconciler) enqueue(key types.NamespacedName) {
	if r.queue != nil {
		r.queue.Add(ctrl.Request{NamespacedName: key})
	}
}
