// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// cleanup ends Pods of jobs that are over and removes what belongs to nothing any more. Events of DeployItems start it for the items whose
// Pods this process has seen; the others are found when it starts, and again after each period of the garbage collection.
type cleanup struct {
	options *Options
	// queue brings items that have to be looked at.
	queue chan event.TypedGenericEvent[types.NamespacedName]

	mu sync.Mutex
	// tracked are items that may have something on the host cluster that goes with their job, with the number of times they were tracked.
	tracked map[types.NamespacedName]uint64

	// places of the Pods.
	places *places
	// counting is held while the places are counted that Pods of an earlier process have, and isCounted says that they were.
	counting  sync.Mutex
	isCounted bool
}

// queued bounds the items that wait to be looked at; one that finds no room is found by the next period.
const queued = 4096

func newCleanup(options *Options) *cleanup {
	return &cleanup{
		options: options, queue: make(chan event.TypedGenericEvent[types.NamespacedName], queued), tracked: map[types.NamespacedName]uint64{},
		places: newPlaces(options.MaxPods),
	}
}

func (c *cleanup) track(item types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tracked[item]++
}

// forget ends the tracking of an item, and gives up its place, unless it was tracked again since times was read.
func (c *cleanup) forget(item types.NamespacedName, times uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tracked[item] == times {
		delete(c.tracked, item)
		c.places.leave(item)
	}
}

// count gives the items with a Pod of an earlier process their places, once.
func (c *cleanup) count(ctx context.Context) error {
	c.counting.Lock()
	defer c.counting.Unlock()
	if c.isCounted {
		return nil
	}
	pods, err := list(ctx, c.options, kinds[0], selectorOf(c.options.Identity))
	if err != nil {
		return err
	}
	for i := range pods {
		if item, marked := itemOf(&pods[i]); marked && pods[i].DeletionTimestamp == nil {
			c.track(item)
			c.places.hold(item)
			c.look(item) // its job may be over
		}
	}
	c.isCounted = true
	return nil
}

// times returns how often an item was tracked; 0 is not at all.
func (c *cleanup) times(item types.NamespacedName) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tracked[item]
}

// look makes the cleanup look at an item.
func (c *cleanup) look(item types.NamespacedName) {
	select {
	case c.queue <- event.TypedGenericEvent[types.NamespacedName]{Object: item}:
	default:
	}
}

// Clean makes a manager run the cleanup beside the deployer, as long as it is the leader.
func (d *Deployer) Clean(mgr ctrl.Manager) error {
	c, items := d.cleanup, mgr.GetClient()
	toRequest := handler.TypedFuncs[types.NamespacedName, ctrl.Request]{GenericFunc: func(_ context.Context,
		e event.TypedGenericEvent[types.NamespacedName], queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
		queue.Add(ctrl.Request{NamespacedName: e.Object})
	}}
	concerned := predicate.NewPredicateFuncs(func(object client.Object) bool {
		item, isItem := object.(*v1alpha1.DeployItem)
		return isItem && c.times(keyOf(item)) > 0 && (isOver(item) || isForced(item))
	})
	gone := predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool { return c.times(client.ObjectKeyFromObject(e.Object)) > 0 }}
	options := queue.Options(c.options.Garbage.Worker, 0)
	options.SkipNameValidation = new(true)
	err := ctrl.NewControllerManagedBy(mgr).Named(Name+"-cleanup").
		Watches(&v1alpha1.DeployItem{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicate.Or(concerned, gone))).
		WatchesRawSource(source.TypedChannel(c.queue, toRequest)).
		WithOptions(options).
		Complete(reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
			return ctrl.Result{}, c.reconcile(ctx, items, request.NamespacedName)
		}))
	if err != nil {
		return fmt.Errorf("set the cleanup up: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(c.search))
}

// search looks for leftovers now and after each period.
func (c *cleanup) search(ctx context.Context) error {
	period := time.NewTicker(time.Duration(c.options.Garbage.RequeueTimeSeconds) * time.Second)
	defer period.Stop()
	for {
		if err := c.collect(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "look for leftovers on the host cluster")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-period.C:
		}
	}
}

// kinds are those of the objects on the host cluster that a deployer makes. Pods come first, because they use the others.
var kinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Secret"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	rbacv1.SchemeGroupVersion.WithKind("Role"), corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
}

// collect makes the cleanup look at every item with objects on the host cluster.
func (c *cleanup) collect(ctx context.Context) error {
	found := map[types.NamespacedName]struct{}{}
	var problems []error
	for _, kind := range kinds {
		objects, err := list(ctx, c.options, kind, selectorOf(c.options.Identity))
		problems = append(problems, err)
		for i := range objects {
			if item, marked := itemOf(&objects[i]); marked {
				found[item] = struct{}{}
			}
		}
	}
	for item := range found {
		c.track(item)
		select {
		case c.queue <- event.TypedGenericEvent[types.NamespacedName]{Object: item}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.Join(problems...)
}

func list(ctx context.Context, o *Options, kind schema.GroupVersionKind, selector client.MatchingLabels) ([]metav1.PartialObjectMetadata, error) {
	objects := &metav1.PartialObjectMetadataList{}
	objects.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := o.Host.Client.List(ctx, objects, client.InNamespace(o.Namespace), selector); err != nil {
		return nil, fmt.Errorf("list objects of kind %s on the host cluster: %w", kind.Kind, err)
	}
	for i := range objects.Items {
		objects.Items[i].SetGroupVersionKind(kind)
	}
	return objects.Items, nil
}

// reconcile removes what a finished job left, or everything of an item that is gone.
func (c *cleanup) reconcile(ctx context.Context, items client.Reader, key types.NamespacedName) error {
	item, times := &v1alpha1.DeployItem{}, c.times(key)
	err := items.Get(ctx, key, item)
	if apierrors.IsNotFound(err) {
		err = c.options.Live.Get(ctx, key, item) // it may be one of another shard, or the cache may lag behind
	}
	of := c.options.hostFor(key)
	switch {
	case apierrors.IsNotFound(err):
		err = of.abandon(ctx)
	case err != nil:
		return fmt.Errorf("read DeployItem %s: %w", key, err)
	case isOver(item):
		err = of.finish(ctx, item.Status.JobIDFinished)
	case isForced(item):
		return of.endAny(ctx) // the deployer does the rest when it is gone
	default:
		return nil
	}
	if err == nil {
		c.forget(key, times)
	}
	return err
}

// isForced reports whether an item is deleted without running its container.
func isForced(item *v1alpha1.DeployItem) bool {
	_, forced := item.Annotations[sidecar.ForceCleanup]
	return forced && item.DeletionTimestamp != nil
}

// endAny ends the Pod of an item, whatever it is for.
func (h host) endAny(ctx context.Context) error {
	pod, err := h.pod(ctx)
	if err != nil || pod == nil {
		return err
	}
	return h.endPod(ctx, pod)
}

// abandon removes everything of an item that does not exist any more.
func (h host) abandon(ctx context.Context) error {
	if err := h.endAny(ctx); err != nil || h.options.Garbage.Disable {
		return err
	}
	return h.removeAll(ctx)
}

// isOver reports whether the last job of an item has ended.
func isOver(item *v1alpha1.DeployItem) bool {
	return item.Status.JobIDFinished != "" && item.Status.JobID == item.Status.JobIDFinished
}

// finish ends the Pod of a job that is over, and removes the Secrets that only this job needs. What belongs to another job is left alone.
func (h host) finish(ctx context.Context, job string) error {
	pod, err := h.pod(ctx)
	if err != nil {
		return err
	}
	if pod != nil && pod.Annotations[sidecar.Job] != job {
		return nil
	}
	hasEnded := pod != nil && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
	if pod != nil && (!hasEnded || !h.options.KeepPods) {
		if err := h.endPod(ctx, pod); err != nil {
			return err
		}
	}
	secrets, err := h.listed(ctx, kinds[1])
	for i := 0; err == nil && i < len(secrets); i++ {
		of := secrets[i].Annotations
		isOfJob := slices.Contains(ofJobs, secrets[i].Labels[sidecar.Type]) && of[sidecar.Job] == job
		isOfPod := secrets[i].Labels[sidecar.Type] == sidecar.TypeExport && (pod == nil || of[sidecar.UUID] == string(pod.UID))
		if isOfJob || isOfPod {
			err = h.remove(ctx, &secrets[i])
		}
	}
	return err
}
