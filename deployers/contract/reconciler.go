// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"slices"
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
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/driftdesk"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/exports"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/owners"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/presence"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/watches"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/writes"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/fairqueue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// conflictPause is how long to wait for the cache after a write met a newer object.
	conflictPause = 100 * time.Millisecond
	// lostPause is how long after the end of a job by somebody else its item is looked at again.
	lostPause = time.Second
)

// reconciler carries out the DeployItems of one deployer, in passes of steps. It knows the queue and who takes part; what a step does is theirs.
type reconciler struct {
	client   client.Client
	deployer Deployer
	options  *Options
	// itemsByTarget, itemsByContext and itemsBySource are the names of the field indexes of DeployItems.
	itemsByTarget, itemsByContext, itemsBySource string

	jobs      *jobs.Jobs
	watches   *watches.Watches
	writes    *writes.Writer
	hooks     hooks
	selection *selection
	repeater  *repeater
	starter   *starter
	caller    *caller
	reporter  *reporter
	drift     *driftdesk.Desk
	vigils    *vigils
	restored  *flowcontrol.Backoff
	queue     workqueue.TypedRateLimitingInterface[ctrl.Request]
	steps     []kit.Step[*scope]
}

// scope is one pass over one item.
type scope struct {
	item *v1alpha1.DeployItem
	job  *jobs.Job
	// own says that the job begins without one of an Execution: the test annotation or the clock asked for it.
	own bool
	// opened is the target of the item, nil before it was opened.
	opened *target.Cluster
	// news is what has changed since the last call.
	news watches.News
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

func (s *scope) deleting() bool { return items.IsDeleting(s.item) }

func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.item) }

func newReconciler(c client.Client, live client.Reader, deployer Deployer, options Options) *reconciler {
	r := &reconciler{
		client: c, deployer: deployer, options: &options, restored: kit.NewRestorations(),
		itemsByTarget: deployer.Name() + "/target", itemsByContext: deployer.Name() + "/context", itemsBySource: deployer.Name() + "/source",
		watches: &watches.Watches{}, writes: &writes.Writer{Client: c, Live: live, Metrics: options.Metrics},
	}
	planner, _ := deployer.(Planner)
	typed, _ := deployer.(Typed)
	keeper, _ := deployer.(SiteKeeper)
	r.hooks = hooksOf(deployer, r.options)
	r.jobs = &jobs.Jobs{Queue: r.enqueue, Released: func(j *jobs.Job) { r.watches.Release(j) }}
	r.vigils = &vigils{watches: r.watches, queue: r.enqueue, of: map[types.NamespacedName]*vigil{}}
	r.selection = &selection{client: c, live: live, deployer: deployer.Name(), options: r.options, jobs: r.jobs}
	clock := newClock(deployer, r.options)
	r.repeater = &repeater{
		live: live, clock: clock, sources: options.Sources, hooks: append(slices.Clone(r.hooks), clock), isHooked: len(r.hooks) > 0,
		held: &owners.Held{Watches: r.watches, Queue: r.enqueue},
	}
	targets := &targets{client: c, live: live, options: r.options, planner: planner}
	r.starter = &starter{
		live: live, options: r.options, deployer: deployer.Name(), itemType: deployer.Type(), planner: planner, typed: typed, targets: targets, jobs: r.jobs, writes: r.writes,
	}
	contexts := &contexts{client: c, live: live, skipPullSecrets: options.SkipPullSecrets}
	r.drift = r.newDriftDesk(live, contexts)
	r.caller = &caller{
		client: c, live: live, deployer: deployer, options: r.options, clock: clock, targets: targets, contexts: contexts,
		waits: r.waits, watches: r.watches, writes: r.writes, hooks: r.hooks, drift: r.drift,
	}
	r.reporter = &reporter{
		options: r.options, planner: planner, keeper: keeper, jobs: r.jobs, watches: r.watches, writes: r.writes, vigils: r.vigils,
		exports: &exports.Publisher{Client: c, Live: live}, presence: &presence.Looker{Clients: options.Clients, Client: c, Live: live},
	}
	r.steps = []kit.Step[*scope]{
		r.selection.checkResponsible, // responsibility.go  type, target and selectors → go on or leave it to another deployer
		r.keepFinalizer,              // finalizer.go       idle item that has lost it → finalizer back
		r.starter.takeTestRequest,    // claim.go           test annotation → a new job
		r.vigils.resume,              // deadline.go        what held a failed uninstall is gone → a new job
		r.showDrift,                  // drift.go           what was found on the target → condition Drifted
		r.repeater.repeat,            // repeat.go          nothing to do, hooks, clock, sources → a new job, or wait for the clock
		r.starter.skipUninstall,      // claim.go           delete-without-uninstall → finalizer off
		r.starter.refuseOtherType,    // othertype.go        last job of another type → failed
		r.starter.pickUp,             // claim.go           new job → one status write
		r.starter.forgetTestRequest,  // claim.go           job that it asked for → test annotation off
		r.reporter.expire,            // deadline.go        time is up → failed with the root cause
		r.reporter.idleUntilDue,      // deadline.go        nothing has changed for a waiting job → wait on
		r.reporter.protect,           // finalizer.go       item without finalizer → finalizer on
		r.caller.call,                // call.go            target, context → Ensure or Delete
		r.reporter.leaveGone,         // targetgone.go      cluster gone → wait for it, or finalizer off
		r.reporter.report,            // report.go          outcome → exports, one status write, next wake-up
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
	if r.writes.Written.Stale(item) {
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
	kit.ForgetDurations(ctx, r.options.Metrics, &v1alpha1.DeployItem{}, key) // after the job, whose calls are not measured any more
	r.jobs.Drop(key)
	r.repeater.forget(key)
	r.vigils.end(key)
	r.restored.Reset(key.String())
	r.writes.Written.Forget(key)
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
	err = kit.Run(ctx, s, r.steps)
	if complete = err == nil; complete {
		r.hooks.afterReconcile(ctx, s)
	}
	return err
}

// result turns the end of a pass into what controller-runtime is to do.
func (r *reconciler) result(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, writes.ErrLost):
		return r.lost(s), nil
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

// lost forgets a job that somebody else has ended. Its item is looked at once more: where the job is still there, no event would begin it again before its
// time is up.
func (r *reconciler) lost(s *scope) ctrl.Result {
	r.jobs.Forget(s.key())
	return ctrl.Result{RequeueAfter: lostPause}
}

// stopAfter ends the pass.
func stopAfter(err error) error {
	if err != nil {
		return err
	}
	return kit.ErrStop
}

// concerns reports whether there may be something to do for an item; it reads nothing.
func (r *reconciler) concerns(item *v1alpha1.DeployItem) bool {
	switch {
	case item.Spec.Type != r.deployer.Type(), item.Annotations[v1alpha1.IgnoreAnnotation] == "true":
		return false
	case items.IsDeleting(item) && !controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer):
		return false
	}
	return !item.Job().IsIdle() || items.IsTestRequested(item) || items.IsGuarded(item) || r.repeater.isRepeated(item) || r.drift.HasNews(item) || r.vigils.isWoken(item) ||
		items.LacksFinalizer(item, r.deployer.Name())
}

// enqueue brings an item to a worker.
func (r *reconciler) enqueue(key types.NamespacedName) {
	if r.queue != nil {
		r.queue.Add(ctrl.Request{NamespacedName: key})
	}
}

// waits tells the queue that the worker of an item waits, so that it does not count as one that works.
func (r *reconciler) waits(key types.NamespacedName) {
	if queue, is := r.queue.(*fairqueue.Queue[ctrl.Request]); is {
		queue.Waits(ctrl.Request{NamespacedName: key})
	}
}
