// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package queue is the work queue of all controllers and deployers. Instants, priorities and back-off are those of controller-runtime; that an item is
// with one worker at a time, and comes back for what happens meanwhile, that of client-go. Only the order is its own:
//
//   - Namespaces take turns, the higher priority first. One that has a quarter of the concurrent items, and at least one, gets no more while another waits.
//   - A namespace beyond its quarter leaves half of the workers free, of which there are twice as many as concurrent items: a newcomer waits only where several
//     namespaces together have taken all, for the next one that is free.
//   - A worker that waits, as for a hook or a server, says so by Waits. It uses no processor, and does not count as concurrent: there are more workers for that,
//     of which a namespace gets half. It keeps its item, so nothing else begins for that; all others go on.
//
// Who interrupts a worker ends the context of its call, as the handlers of events do in deployers/contract.
package queue

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// Options returns the options of a controller that works on so many items at a time, beside some that wait.
func Options(concurrent, waiting int) controller.Options {
	concurrent = max(concurrent, 1)
	return controller.Options{
		MaxConcurrentReconciles: 2*concurrent + waiting,
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
			return newQueue(name, limiter, concurrent, waiting, namespaceOf)
		},
	}
}

// namespaceOf returns the namespace of an object. One without any is a namespace of its own.
func namespaceOf(request ctrl.Request) string { return cmp.Or(request.Namespace, "/"+request.Name) }

// Queue is a work queue of controllers. It is safe for concurrent use.
type Queue[T comparable] struct {
	// PriorityQueue has what waits for an instant, or is on its way to ready: what waits for a worker, or has one.
	priorityqueue.PriorityQueue[T]
	ready               *workqueue.Typed[T]
	limiter             workqueue.TypedRateLimiter[T]
	concurrent, waiting int
	namespaceOf         func(T) string

	// mu guards the rest and each use of ready; due wakes a worker when there may be an item for it.
	mu         sync.Mutex
	due        *sync.Cond
	turns      uint64
	namespaces map[string]*namespace[T]
	// queued are the items that wait for a worker, or come back to one after the one that has it; working those that have one. The next is of chosen.
	queued, working map[T]*entry[T]
	chosen          *namespace[T]
}

// entry is an item; its namespace is nil before it waits for a worker.
type entry[T comparable] struct {
	item      T
	priority  int
	namespace *namespace[T]
	waits     bool
}

// namespace has workers, of which some wait, or items that wait for one, in order. The smallest turn is the next.
type namespace[T comparable] struct {
	name             string
	items            []*entry[T]
	turn             uint64
	workers, waiting int
}

func newQueue[T comparable](name string, limiter workqueue.TypedRateLimiter[T], concurrent, waiting int, namespaceOf func(T) string) *Queue[T] {
	q := &Queue[T]{
		PriorityQueue: priorityqueue.New("", func(o *priorityqueue.Opts[T]) { o.RateLimiter = limiter }),
		limiter:       limiter, concurrent: concurrent, waiting: waiting, namespaceOf: namespaceOf,
		namespaces: map[string]*namespace[T]{}, queued: map[T]*entry[T]{}, working: map[T]*entry[T]{},
	}
	q.ready = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: name, Queue: order[T]{q}})
	q.due = sync.NewCond(&q.mu)
	go func() {
		for item, priority, isOver := q.PriorityQueue.GetWithPriority(); !isOver; item, priority, isOver = q.PriorityQueue.GetWithPriority() {
			q.put(item, priority)
			q.PriorityQueue.Done(item)
		}
	}()
	return q
}

func (q *Queue[T]) put(item T, priority int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.queued[item]; e == nil {
		q.queued[item] = &entry[T]{item: item, priority: priority}
	} else if priority > e.priority {
		e.priority = priority
		if n := e.namespace; n != nil {
			n.items = slices.DeleteFunc(n.items, func(other *entry[T]) bool { return other == e })
			order[T]{q}.Push(item)
		}
	}
	q.ready.Add(item)
	q.due.Signal()
}

// AddWithOpts queues items. One that is ready already needs no other instant.
func (q *Queue[T]) AddWithOpts(options priorityqueue.AddOpts, items ...T) {
	for _, item := range items {
		q.mu.Lock()
		isReady := q.queued[item] != nil
		q.mu.Unlock()
		if !isReady {
			q.PriorityQueue.AddWithOpts(options, item)
			continue
		}
		if options.RateLimited {
			q.limiter.When(item)
		}
		q.put(item, ptr.Deref(options.Priority, 0))
	}
}

// GetWithPriority waits for the next item. Done has to be called for it.
func (q *Queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.ready.ShuttingDown() {
		if q.chosen = q.choose(); q.chosen != nil {
			item, _ = q.ready.Get()
			q.due.Signal() // one event may have made room for several
			return item, q.working[item].priority, false
		}
		q.due.Wait()
	}
	return item, 0, true
}

// choose returns the namespace whose turn it is, nil where none may have one more worker.
func (q *Queue[T]) choose() (chosen *namespace[T]) {
	total := 0
	for _, n := range q.namespaces {
		total += q.active(n)
	}
	for _, n := range q.namespaces {
		if len(n.items) > 0 && (total < q.concurrent || total < 2*q.concurrent && !q.hasQuarter(n)) && (chosen == nil || q.isBefore(n, chosen)) {
			chosen = n
		}
	}
	return chosen
}

// active is how many workers of a namespace work. Of those that wait, those beyond its half of the workers for that count as if they did.
func (q *Queue[T]) active(n *namespace[T]) int      { return n.workers - min(n.waiting, q.waiting/2) }
func (q *Queue[T]) hasQuarter(n *namespace[T]) bool { return q.active(n) >= max(q.concurrent/4, 1) }

func (q *Queue[T]) isBefore(n, other *namespace[T]) bool {
	if q.hasQuarter(n) != q.hasQuarter(other) {
		return q.hasQuarter(other)
	}
	return cmp.Or(cmp.Compare(other.items[0].priority, n.items[0].priority), cmp.Compare(n.turn, other.turn)) < 0
}

// Get waits for the next item. Done has to be called for it.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// Waits says that the worker of an item waits from now on.
func (q *Queue[T]) Waits(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.working[item]; e != nil && !e.waits {
		e.waits = true
		e.namespace.waiting++
		q.due.Signal()
	}
}

// Done says that a worker is through with an item.
func (q *Queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.working[item]
	delete(q.working, item)
	e.namespace.workers--
	if e.waits {
		e.namespace.waiting--
	}
	q.ready.Done(item)
	if len(e.namespace.items) == 0 && e.namespace.workers == 0 {
		delete(q.namespaces, e.namespace.name)
	}
	q.due.Signal()
}

// ShutDown ends all workers when they are through with their items. What is still queued is found again by the next process.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.PriorityQueue.ShutDown()
	q.ready.ShutDown()
	q.due.Broadcast()
}

// ShutDownWithDrain does the same.
func (q *Queue[T]) ShutDownWithDrain() { q.ShutDown() }

// order stores the items that are ready for a worker. Its methods are called with mu held.
type order[T comparable] struct{ *Queue[T] }

// Push adds an item, behind those of its priority.
func (o order[T]) Push(item T) {
	e, name := o.queued[item], o.namespaceOf(item)
	n := cmp.Or(o.namespaces[name], &namespace[T]{name: name})
	e.namespace, o.namespaces[name] = n, n
	if len(n.items) == 0 {
		o.turns++
		n.turn = o.turns
	}
	at, _ := slices.BinarySearchFunc(n.items, e.priority, func(other *entry[T], its int) int { return cmp.Or(cmp.Compare(its, other.priority), -1) })
	n.items = slices.Insert(n.items, at, e)
}

// Touch has nothing to do.
func (order[T]) Touch(T) {}

// Pop gives the next item a worker.
func (o order[T]) Pop() T {
	n, e := o.chosen, o.chosen.items[0]
	n.items = slices.Delete(n.items, 0, 1)
	o.turns++
	n.turn = o.turns
	n.workers++
	delete(o.queued, e.item)
	o.working[e.item] = e
	return e.item
}

// Len returns how many items are ready.
func (o order[T]) Len() (total int) {
	for _, n := range o.namespaces {
		total += len(n.items)
	}
	return total
}
