// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// defaultConcurrency is the number of DeployItems worked on at the same time.
const defaultConcurrency = 30

// Delays before the next attempt of a job that failed.
const (
	// DefaultMinRetryDelay is that before the second attempt.
	DefaultMinRetryDelay = 250 * time.Millisecond
	// DefaultMaxRetryDelay is the longest.
	DefaultMaxRetryDelay = 30 * time.Second
)

// Options of Serve.
type Options struct {
	// Identity of this process, for status.deployer.identity. Deployers with target selectors need one that no other deployer of
	// the same type has and that stays the same after a restart.
	Identity string
	// Version of this process, for status.deployer.version.
	Version string
	// TargetSelectors restrict the deployer to DeployItems whose Target one of them selects. Without selectors it is responsible for
	// every item of its type. Items without target are always its own, unless TargetsOnly is set.
	TargetSelectors []v1alpha1.TargetSelector
	// TargetsOnly leaves items without target to other deployers.
	TargetsOnly bool
	// Concurrency is the number of DeployItems worked on at the same time; 0 means 30. Namespaces that have less than a quarter of them get as many
	// more together, and 64 items may wait beside them: see Item.Waits.
	Concurrency int
	// MinRetryDelay and MaxRetryDelay bound the delay before the next attempt of a job that failed; 0 means 250 ms and 30 s.
	MinRetryDelay, MaxRetryDelay time.Duration
	// MaxTimeout is the longest time for a job, also of an item whose timeout is none; 0 means no limit.
	MaxTimeout time.Duration
	// Clients opens Targets. Required.
	Clients *target.Clients
	// AnyTargetType accepts Targets of other types than kubernetes-cluster; Item.Target is nil for them and target.Content reads
	// what they hold.
	AnyTargetType bool
	// UnopenedTargets leaves Item.Target nil, for deployers that read Targets themselves and reach none: see TargetFailure for their errors.
	UnopenedTargets bool
	// SkipPullSecrets leaves PullSecrets and OCMConfig of Item.Context empty, for deployers that contact no registry. It saves their reads.
	SkipPullSecrets bool
	// Hooks take part in the work on every item, after those of the Deployer. Optional.
	Hooks Hooks
	// JitterPercentage, from 0 to 99, is by how much an interval after which the clock starts a job of an item may become longer, so that
	// items of one interval do not all come at the same instant.
	JitterPercentage uint8
	// MinContinuousInterval is the least time between the end of a job of an item and the next one that the clock starts; 0 means 10 s.
	MinContinuousInterval time.Duration
	// Sources makes items follow the sources that they name. Optional: without it no source gives an item a job.
	Sources *SourceWatch
	// RefuseUnknownKeys makes every unknown key of a configuration an error, see Typed.
	RefuseUnknownKeys bool
	// Liveness is how the deployer says that it is alive, so that items which wait for it do not fail. Optional: without it an item that it
	// does not begin in time fails.
	Liveness *notify.LivenessOptions
	// Recorder of events; nil means that of the manager.
	Recorder record.EventRecorder
	// Metrics records the duration of calls of the deployer; the zero value records nothing.
	Metrics runtimectrl.Metrics
}

func (o *Options) complete() error {
	if o.Clients == nil {
		return errors.New("the deployer has no clients for targets; set Options.Clients")
	}
	if o.Concurrency <= 0 {
		o.Concurrency = defaultConcurrency
	}
	o.MinRetryDelay = cmp.Or(o.MinRetryDelay, DefaultMinRetryDelay)
	o.MaxRetryDelay = max(cmp.Or(o.MaxRetryDelay, DefaultMaxRetryDelay), o.MinRetryDelay)
	o.MinContinuousInterval = cmp.Or(o.MinContinuousInterval, DefaultMinContinuousInterval)
	for i, selector := range o.TargetSelectors {
		for _, requirement := range slices.Concat(selector.Annotations, selector.Labels) {
			if !notify.IsOperator(requirement.Operator) {
				return fmt.Errorf("targetSelectors[%d]: key %q has the unknown operator %q; use one of =, ==, !=, in, notin, exists, !, gt, lt",
					i, requirement.Key, requirement.Operator)
			}
		}
	}
	return nil
}

// waitingCalls is how many calls of the deployer may wait beside those that work.
const waitingCalls = 64

// Serve makes a manager carry out DeployItems with a deployer. The cache of the manager should hold what CacheOptions says; its
// scheme has to know v1alpha1 and core/v1. Several deployers may share a manager if its cache is not restricted to one type.
func Serve(mgr ctrl.Manager, deployer Deployer, options Options) error {
	if err := serve(mgr, deployer, options); err != nil {
		return fmt.Errorf("serve %s: %w", deployer.Name(), err)
	}
	return nil
}

func serve(mgr ctrl.Manager, deployer Deployer, options Options) (err error) {
	if err := options.complete(); err != nil {
		return err
	}
	if options.Recorder == nil {
		//lint:ignore SA1019 the recorders of Flux, which take its place, have this interface
		options.Recorder = mgr.GetEventRecorderFor(deployer.Name())
	}
	r := newReconciler(mgr.GetClient(), mgr.GetAPIReader(), deployer, options)
	if options.Sources != nil {
		if r.landscaper, err = LandscaperCluster(mgr); err != nil {
			return err
		}
	}
	beside := []manager.RunnableFunc{r.watches.Run}
	if r.drift != nil {
		beside = append(beside, r.drift.Run)
	}
	if options.Liveness != nil {
		holder, err := notify.NewLiveness(mgr.GetConfig(), *options.Liveness, notify.DeployerClaim{
			Deployer: deployer.Name(), Identity: options.Identity, Types: []string{deployer.Type()},
			TargetSelectors: options.TargetSelectors, TargetsOnly: options.TargetsOnly,
		})
		if err != nil {
			return err
		}
		beside = append(beside, holder.Run)
	}
	for _, run := range beside {
		if err := mgr.Add(run); err != nil {
			return err
		}
	}
	if err := r.index(mgr.GetFieldIndexer()); err != nil {
		return err
	}
	// Namespaces share the workers.
	how := queue.Options(options.Concurrency, waitingCalls)
	how.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](r.options.MinRetryDelay, r.options.MaxRetryDelay)
	how.SkipNameValidation = new(true)
	made := ctrl.NewControllerManagedBy(mgr).Named(deployer.Name()).
		Watches(&v1alpha1.DeployItem{}, &itemHandler{reconciler: r}).
		Watches(&v1alpha1.Target{}, ofNew(r.usersOf(r.itemsByTarget)), builder.WithPredicates(protocol.BeyondStatus)).
		Watches(&v1alpha1.Context{}, ofNew(r.usersOf(r.itemsByContext)), builder.WithPredicates(protocol.BeyondMetadata)).
		WatchesRawSource(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
			r.queue = queue // for what happens on targets
			return nil
		})).
		WithOptions(how)
	if sources := options.Sources; sources != nil {
		for _, kind := range sources.Kinds {
			made = made.Watches(kind, handler.EnqueueRequestsFromMapFunc(r.followersOf), builder.WithPredicates(sources.News))
		}
	}
	return made.Complete(r)
}

func (r *reconciler) index(indexer client.FieldIndexer) error {
	keys := map[string]func(*v1alpha1.DeployItem) []string{
		r.itemsByTarget:  func(item *v1alpha1.DeployItem) []string { return []string{targetName(item)} },
		r.itemsByContext: func(item *v1alpha1.DeployItem) []string { return []string{item.ContextName()} },
	}
	if r.options.Sources != nil {
		keys[r.itemsBySource] = r.options.Sources.KeysOf
	}
	for name, of := range keys {
		by := func(obj client.Object) []string { return of(obj.(*v1alpha1.DeployItem)) }
		if err := indexer.IndexField(context.Background(), &v1alpha1.DeployItem{}, name, by); err != nil {
			return fmt.Errorf("index DeployItems by %s: %w", name, err)
		}
	}
	return nil
}

// ofNew returns a handler that brings the items back that may go on with what an object says now. Those that the process finds at its start say nothing
// new: it looks at all items then.
func ofNew(users handler.MapFunc) handler.EventHandler {
	add := func(ctx context.Context, object client.Object, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
		for _, request := range users(ctx, object) {
			queue.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, created event.CreateEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
			if !created.IsInInitialList {
				add(ctx, created.Object, queue)
			}
		},
		UpdateFunc: func(ctx context.Context, updated event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
			add(ctx, updated.ObjectNew, queue)
		},
	}
}

// usersOf returns the items that name an object, after waking their jobs. Whether there is something to do for them is left to other passes, because their
// configurations take long to read.
func (r *reconciler) usersOf(index string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []ctrl.Request {
		if index == r.itemsByTarget {
			r.drift.TargetChanged(obj.GetNamespace(), obj.GetName())
		}
		var users v1alpha1.DeployItemList
		err := r.client.List(ctx, &users, client.InNamespace(obj.GetNamespace()), client.MatchingFields{index: obj.GetName()}, client.UnsafeDisableDeepCopy)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list users", "name", obj.GetName())
			return nil
		}
		requests := make([]ctrl.Request, 0, len(users.Items))
		for i := range users.Items {
			key := client.ObjectKeyFromObject(&users.Items[i])
			if known := r.jobs.Of(key); known != nil {
				known.Note()
			}
			requests = append(requests, ctrl.Request{NamespacedName: key})
		}
		return requests
	}
}

// followersOf returns the items to look at after an event of a source. One with a job is looked at when that ends.
func (r *reconciler) followersOf(ctx context.Context, source client.Object) []ctrl.Request {
	var followers v1alpha1.DeployItemList
	key := client.MatchingFields{r.itemsBySource: r.options.Sources.KeyOf(source)}
	if err := r.client.List(ctx, &followers, key, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list followers", "namespace", source.GetNamespace(), "name", source.GetName())
		return nil
	}
	var requests []ctrl.Request
	for i := range followers.Items {
		if item := &followers.Items[i]; item.Job().IsIdle() {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(item)})
		}
	}
	return requests
}

// itemHandler interrupts calls whose job is over and queues items that need work.
type itemHandler struct {
	handler.EnqueueRequestForObject
	reconciler *reconciler
}

// Create queues an item that needs work.
func (h *itemHandler) Create(ctx context.Context, created event.CreateEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	if h.reconciler.seen(created.Object) {
		h.EnqueueRequestForObject.Create(ctx, created, queue)
	}
}

// Update interrupts the call of a job that is over and queues the item if it needs work.
func (h *itemHandler) Update(ctx context.Context, updated event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	if h.reconciler.seen(updated.ObjectNew) {
		h.EnqueueRequestForObject.Update(ctx, updated, queue)
	}
}

// Delete interrupts whatever runs for an item that is gone.
func (h *itemHandler) Delete(ctx context.Context, deleted event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	h.reconciler.forget(ctx, client.ObjectKeyFromObject(deleted.Object))
}

// seen takes note of an item and reports whether it has to be queued.
func (r *reconciler) seen(obj client.Object) bool {
	item := obj.(*v1alpha1.DeployItem)
	r.jobs.Observe(item, item.Annotations[v1alpha1.IgnoreAnnotation] == "true")
	r.written.Stale(item)
	r.drift.Observe(item)
	key := client.ObjectKeyFromObject(item)
	return r.concerns(item) || r.jobs.Of(key) != nil
}

// CacheOptions says what the cache of a deployer for one item type holds: the DeployItems of that type only, selected by the API
// server, Targets and Contexts; all without managed fields. It belongs into cache.Options.ByObject of the manager.
func CacheOptions(itemType string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&v1alpha1.DeployItem{}: {
			Field: fields.OneTermEqualSelector("spec.type", itemType), Transform: protocol.StripManagedFields,
		},
		&v1alpha1.Target{}:  {Transform: protocol.StripManagedFields},
		&v1alpha1.Context{}: {Transform: protocol.StripManagedFields},
	}
}

// LandscaperCluster returns the connection of a manager as a cluster, for watches on single objects there.
func LandscaperCluster(mgr ctrl.Manager) (*target.Cluster, error) {
	watcher, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	return &target.Cluster{Config: mgr.GetConfig(), Client: mgr.GetClient(), Dynamic: watcher, Mapper: mgr.GetRESTMapper()}, nil
}
