// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package fair shares the workers of a controller among namespaces, and among what the workers wait for: nobody gets more than a quarter of them
// while others wait. As many as others had together during the last seconds stay free for them, but a namespace gets its equal part; no other worker
// idles while somebody waits. Where processors are short, a namespace that worked more than others lately rests after each item. It promises nothing to
// others.
package fair

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// Sites tells what the work on objects waits for. Its methods are called under a lock and have to return at once.
type Sites interface {
	// Of returns the name under which an object knows its site, as its Target; "" for nothing in particular.
	Of(ctrl.Request) string
	// Address returns what is known of a site by now, so that several names of one cluster count as one; the name where nothing is.
	Address(site string) string
}

// Options returns the options of a controller with this many workers, whose queue is fair. One namespace alone gets all of them; beside others it gets
// those that they had no use for during the last seconds. A quarter as many are spare, for namespaces that have none while all others are taken, and
// half of those also for such sites. Sites may be nil.
func Options(workers int, sites Sites) controller.Options {
	workers = max(workers, 1)
	address := func(string) string { return "" }
	if sites != nil {
		address = sites.Address
	}
	return controller.Options{
		MaxConcurrentReconciles: workers + spare(workers),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
			by := newOrder(workers, func(request ctrl.Request) place { return placeOf(request, sites) }, address, time.Now)
			by.short = processors.areShort
			return newQueue(name, limiter, by)
		},
	}
}

// placeOf returns the place of a request. Objects without namespace are each a place of their own.
func placeOf(request ctrl.Request, sites Sites) place {
	where := place{tenant: request.Namespace}
	if request.Namespace == "" {
		where.tenant = "/" + request.Name
	}
	if sites != nil {
		where.site = sites.Of(request)
	}
	return where
}

// queue is a work queue of controllers. What has to wait for an instant is in one of controller-runtime, which keeps the earliest instant and the
// highest priority of an item; what is ready is in one of client-go, which never gives an item to two workers. Only the order is its own.
type queue[T comparable] struct {
	ready   *workqueue.Typed[T]
	order   *order[T]
	later   priorityqueue.PriorityQueue[T]
	limiter workqueue.TypedRateLimiter[T]

	// mu is held by the worker that takes an item; due wakes one when there may be another.
	mu  sync.Mutex
	due *sync.Cond
	// opens wakes a worker when another item may have one because time has passed; nil is never. While it is set, none may earlier: what somebody had
	// until now stays free for longer than what any had until earlier.
	opens *time.Timer
	ended sync.Once
}

func newQueue[T comparable](name string, limiter workqueue.TypedRateLimiter[T], by *order[T]) *queue[T] {
	q := &queue[T]{
		ready: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: name, Queue: by}),
		order: by, limiter: limiter,
		later: priorityqueue.New("", func(o *priorityqueue.Opts[T]) { o.RateLimiter = limiter }),
	}
	q.due = sync.NewCond(&q.mu)
	go q.pass()
	return q
}

// pass hands over what is due.
func (q *queue[T]) pass() {
	for {
		item, priority, shutdown := q.later.GetWithPriority()
		if shutdown {
			return
		}
		q.put(item, priority)
		q.later.Done(item)
	}
}

func (q *queue[T]) put(item T, priority int) {
	q.order.prefer(item, priority)
	q.ready.Add(item)
	q.wake()
}

// wake lets a worker look for an item.
func (q *queue[T]) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due.Signal()
}

// open lets a worker look for an item when the time has passed.
func (q *queue[T]) open() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.opens = nil
	q.due.Signal()
}

// AddWithOpts queues items. One that is ready already stays so, whatever the time is that it is to wait.
func (q *queue[T]) AddWithOpts(options priorityqueue.AddOpts, items ...T) {
	for _, item := range items {
		if !q.order.has(item) {
			q.later.AddWithOpts(options, item)
			continue
		}
		if options.RateLimited {
			q.limiter.When(item)
		}
		priority := 0
		if options.Priority != nil {
			priority = *options.Priority
		}
		q.put(item, priority)
	}
}

// Add queues an item.
func (q *queue[T]) Add(item T) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddAfter queues an item when a time is over.
func (q *queue[T]) AddAfter(item T, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

// AddRateLimited queues an item when the time is over that the limiter says.
func (q *queue[T]) AddRateLimited(item T) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

// GetWithPriority waits for the next item. Done has to be called for it.
func (q *queue[T]) GetWithPriority() (T, int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.order.isDue() && !q.ready.ShuttingDown() {
		if q.opens == nil {
			if after := q.order.opens(); after > 0 {
				q.opens = time.AfterFunc(after, q.open)
			}
		}
		q.due.Wait()
	}
	item, shutdown := q.ready.Get()
	if shutdown {
		return item, 0, true
	}
	q.due.Signal() // there may be one more that got its right by the same event
	return item, q.order.held(item), false
}

// Get waits for the next item. Done has to be called for it.
func (q *queue[T]) Get() (T, bool) {
	item, _, shutdown := q.GetWithPriority()
	return item, shutdown
}

// Done says that a worker is through with an item.
func (q *queue[T]) Done(item T) {
	if rest := q.order.release(item); rest > 0 {
		time.AfterFunc(rest, q.wake)
	}
	q.ready.Done(item)
}

// Len returns how many items are ready.
func (q *queue[T]) Len() int { return q.order.Len() }

// Forget says that an item needs no more retries.
func (q *queue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues returns how often an item was retried.
func (q *queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// ShutDown ends all workers when they are through with their items.
func (q *queue[T]) ShutDown() {
	q.order.close()
	q.ended.Do(q.later.ShutDown) // a second time it panics
	q.ready.ShutDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.opens != nil {
		q.opens.Stop()
	}
	q.due.Broadcast()
}

// ShutDownWithDrain does the same: what is still queued is found again by the next process.
func (q *queue[T]) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown reports whether the queue was shut down.
func (q *queue[T]) ShuttingDown() bool { return q.ready.ShuttingDown() }
