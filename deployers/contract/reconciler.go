// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// conflictPause is how long to wait for the cache after a write met a newer object.
	conflictPause = 100 * time.Millisecond
	// lostPause is how long after the end of a job by somebody else its item is looked at again.
	lostPause = time.Second
)

// reconciler carries out the DeployItems of one deployer, in passes of steps.
type reconciler struct {
	client client.Client
	// live reads without cache.
	live     client.Reader
	deployer Deployer
	// planner, typed and keeper are the deployer where it is one of these, else nil.
	planner Planner
	typed   Typed
	keeper  SiteKeeper
	options *Options
	// itemsByTarget, itemsByContext and itemsBySource are the names of the field indexes of DeployItems.
	itemsByTarget, itemsByContext, itemsBySource string

	jobs    jobs
	watches watches
	// landscaper is the Landscaper cluster, on which owners of items are watched.
	landscaper *target.Cluster
	// written knows what the cache has not seen yet.
	written protocol.Consistency
	hooks   hooks
	clock   *clock
	waiters waiters
	// turns has the last job of each item that is to get one of its own, from the pass that found that out to the one that begins it. The queue lets that one
	// wait for everything that an event asks for, which the first may be itself.
	turns    sync.Map
	drift    *driftDesk
	restored *flowcontrol.Backoff
	queue    workqueue.TypedRateLimitingInterface[ctrl.Request]
	steps    []protocol.Step[*scope]
}

// scope is one pass over one item.
type scope struct {
	item *v1alpha1.DeployItem
	job  *job
	// own says that the job begins without one of an Execution: the test annotation or the clock asked for it.
	own bool
	// opened is the target of the item, nil before it was opened.
	opened *target.Cluster
	// news is what has changed since the last call.
	news news
	// outcome and err are what the deployer answered.
	outcome Outcome
	err     error
	// called is when the deployer was called.
	called time.Time
	// requeue is when to look at the item again without an event; 0 is never.
	requeue time.Duration
	// isIdle says that the item has no job.
	isIdle bool
	// hookRequeue is when hooks want to look at the item again; 0 is never.
	hookRequeue time.Duration
	// maxTimeout is Options.MaxTimeout.
	maxTimeout time.Duration
}

// begin gives the item a job of its own.
func (s *scope) begin(id string) {
	s.own, s.isIdle = true, false
	s.item.Status.JobID = id
	s.item.Status.JobIDGenerationTime = &metav1.Time{Time: time.Now()}
}

func (s *scope) deleting() bool { return isDeleting(s.item) }

func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.item) }

func newReconciler(c client.Client, live client.Reader, deployer Deployer, options Options) *reconciler {
	r := &reconciler{
		client: c, live: live, deployer: deployer, options: &options, restored: queue.NewRestorations(),
		itemsByTarget: deployer.Name() + "/target", itemsByContext: deployer.Name() + "/context", itemsBySource: deployer.Name() + "/source",
	}
	for _, part := range []any{deployer, options.Hooks} {
		if own, has := part.(Hooks); has {
			r.hooks = append(r.hooks, own)
		}
	}
	r.planner, _ = deployer.(Planner)
	r.typed, _ = deployer.(Typed)
	r.keeper, _ = deployer.(SiteKeeper)
	r.clock = &clock{jitter: queue.Jitter(options.JitterPercentage), rest: options.MinContinuousInterval}
	r.clock.deployer, _ = deployer.(ContinuousReconciler)
	r.jobs = jobs{queue: r.enqueue, released: func(ended *job) { r.watches.Release(ended) }}
	r.waiters = waiters{watches: &r.watches, queue: r.enqueue}
	r.drift = r.newDriftDesk()
	r.steps = []protocol.Step[*scope]{
		r.checkResponsible,  // reconciler.go  type, target and selectors → go on or leave it to another deployer
		r.keepFinalizer,     // claim.go       idle item that has lost it → finalizer back
		r.takeTestRequest,   // claim.go       test annotation → a new job
		r.resumeUninstall,   // waiters.go     what held a failed uninstall is gone → a new job
		r.showDrift,         // drift.go       what was found on the target → condition Drifted
		r.repeat,            // repeat.go      nothing to do, hooks, clock, sources → a new job, or wait for the clock
		r.skipUninstall,     // claim.go       delete-without-uninstall → finalizer off
		r.refuseOtherType,   // claim.go       last job of another type → failed
		r.pickUp,            // claim.go       new job → one status write
		r.forgetTestRequest, // claim.go       job that it asked for → test annotation off
		r.expire,            // failure.go     time is up → failed with the root cause
		r.idleUntilDue,      // failure.go     nothing has changed for a waiting job → wait on
		r.protect,           // claim.go       item without finalizer → finalizer on
		r.call,              // call.go        target, context → Ensure or Delete
		r.leaveGone,         // targetgone.go  cluster gone → wait for it, or finalizer off
		r.report,            // report.go      outcome → exports, one status write, next wake-up
	}
	return r
}

// Reconcile brings one item on. Its errors are about the landscaper cluster; those of the work are in the item's status.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	item := &v1alpha1.DeployItem{}
	if err := r.client.Get(ctx, request.NamespacedName, item); err != nil {
		r.forget(ctx, request.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.written.Stale(item) {
		return ctrl.Result{}, nil
	}
	if !r.concerns(item) {
		r.jobs.Forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	s := &scope{item: item, maxTimeout: r.options.MaxTimeout}
	return r.result(ctx, s, r.pass(ctx, s))
}

// forget stops whatever runs for an item that is gone, and drops what is known of it.
func (r *reconciler) forget(ctx context.Context, key types.NamespacedName) {
	r.jobs.Forget(key)
	protocol.ForgetDurations(ctx, r.options.Metrics, &v1alpha1.DeployItem{}, key) // after the job, whose calls are not measured any more
	r.jobs.Drop(key)
	r.turns.Delete(key)
	r.waiters.end(key)
	r.restored.Reset(key.String())
	r.written.Forget(key)
	r.drift.Forget(key)
}

// pass runs the steps. When they break off, by error or panic, the deployer is called again in the next pass.
func (r *reconciler) pass(ctx context.Context, s *scope) (err error) {
	complete := false
	defer func() {
		if s.job != nil && !complete {
			s.job.Note()
		}
	}()
	err = protocol.Run(ctx, s, r.steps)
	if complete = err == nil; complete && !s.called.IsZero() {
		for _, hook := range r.hooks {
			hook.AfterReconcile(ctx, s.item)
		}
	}
	return err
}

// result turns the end of a pass into what controller-runtime is to do.
func (r *reconciler) result(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, errLost):
		// It is looked at once more: where the job is still there, no event would begin it again before its time is up.
		r.jobs.Forget(s.key())
		return ctrl.Result{RequeueAfter: lostPause}, nil
	case apierrors.IsNotFound(err) && s.job == nil:
		return ctrl.Result{}, nil
	case apierrors.IsNotFound(err):
		r.jobs.Forget(s.key())
		return ctrl.Result{}, err // with back-off: where it was not the item that is missing, that may last
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
	return protocol.ErrStop
}

// concerns reports whether there may be something to do for an item; it reads nothing.
func (r *reconciler) concerns(item *v1alpha1.DeployItem) bool {
	switch {
	case item.Spec.Type != r.deployer.Type(), item.Annotations[v1alpha1.IgnoreAnnotation] == "true":
		return false
	case isDeleting(item) && !controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer):
		return false
	}
	return !item.Job().IsIdle() || isTestRequested(item) || isGuarded(item) || r.isRepeated(item) || r.drift.HasNews(item) || r.waiters.woken(item) || r.isForgotten(item) ||
		lacksFinalizer(item, r.deployer.Name())
}

// enqueue brings an item to a worker.
func (r *reconciler) enqueue(key types.NamespacedName) {
	if r.queue != nil {
		r.queue.Add(ctrl.Request{NamespacedName: key})
	}
}

// waits tells the queue that the worker of an item waits, so that it does not count as one that works.
func (r *reconciler) waits(key types.NamespacedName) {
	if queue, is := r.queue.(*queue.Queue[ctrl.Request]); is {
		queue.Waits(ctrl.Request{NamespacedName: key})
	}
}

// checkResponsible leaves items to other deployers of the same type whose targets this one does not select.
func (r *reconciler) checkResponsible(ctx context.Context, s *scope) error {
	responsible, err := r.selects(ctx, s.item)
	if err != nil || responsible {
		return err
	}
	r.jobs.Forget(s.key())
	return protocol.ErrStop
}

// selects reports whether the target selectors select the Target of an item.
func (r *reconciler) selects(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
	name := targetName(item)
	if name == "" {
		return !r.options.TargetsOnly, nil
	}
	if len(r.options.TargetSelectors) == 0 {
		return true, nil
	}
	found, err := target.Get(ctx, r.client, r.live, item.Namespace, name)
	if isTargetNotFound(err) { // who did the last job also has to report that the target is gone
		last := item.Status.Deployer
		return last != nil && last.Name == r.deployer.Name() && last.Identity == r.options.Identity, nil
	}
	return err == nil && notify.Selected(r.options.TargetSelectors, found), err
}
