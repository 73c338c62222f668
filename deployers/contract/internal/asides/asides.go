// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package asides lets calls of the deployer that wait go on without their workers, within a limit that namespaces and clusters share. It does not know
// what a call does.
package asides

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
)

// LongCall is how long a call keeps its worker when the deployer does not say earlier that it waits.
const LongCall = time.Second

// Asides are the calls that go on without a worker, because they wait for something. At their end the item comes back to a worker, which reports
// the answer A. Until then no other call for the item begins. It is safe for concurrent use.
type Asides[A any] struct {
	// limit is how many there are at most; 0 means none.
	limit int
	// ended is called when one has ended, with no lock held.
	ended func(types.NamespacedName)

	mu sync.Mutex
	// detached are the calls whose worker has left.
	detached map[types.NamespacedName]*Call[A]
	// held counts the asides of each owner, total all of them.
	held  map[string]int
	total int
	// waiting are the calls whose worker may leave as soon as there is room; the oldest comes first.
	waiting []*Call[A]
	// isStopped says that the process ends, so that no worker leaves any more: it would not be waited for.
	isStopped bool
}

// New returns asides of which there are at most limit at the same time; 0 means none. When one has ended, its item is handed to ended, with no lock
// held.
func New[A any](limit int, ended func(types.NamespacedName)) *Asides[A] {
	return &Asides[A]{limit: limit, ended: ended, detached: map[types.NamespacedName]*Call[A]{}, held: map[string]int{}}
}

// Call is one call of the deployer. A nil one keeps its worker.
type Call[A any] struct {
	asides *Asides[A]
	job    *jobs.Job
	// answer is there once done is closed.
	answer A
	// room is closed when the worker may leave, done when the call has ended.
	room, done chan struct{}
	// asked lets the worker leave once.
	asked sync.Once

	// The rest is guarded by the lock of the asides. owners share them: the namespace of the item, and the cluster of its Target.
	owners                      []string
	hasRoom, isDetached, isOver bool
	// panicked is what the deployer broke off with, nil when it did not.
	panicked error
}

// Run makes a call of the deployer for a job. It returns the answer, or false when the worker leaves.
func (a *Asides[A]) Run(job *jobs.Job, work func(*Call[A]) A) (A, bool) {
	if a.limit <= 0 {
		return work(nil), true
	}
	c := &Call[A]{
		asides: a, job: job, owners: []string{"namespace " + job.Key.Namespace}, room: make(chan struct{}), done: make(chan struct{}),
	}
	impatient := time.AfterFunc(LongCall, c.Leave)
	go func() {
		defer a.finish(c)
		defer impatient.Stop()
		defer c.rescue()
		c.answer = work(c)
	}()
	select {
	case <-c.done:
	case <-c.room:
		if a.detach(c) {
			var none A
			return none, false
		}
		<-c.done
	}
	return c.result(), true
}

// Leave says that the call has to wait.
func (c *Call[A]) Leave() {
	if c != nil {
		c.asked.Do(func() { c.asides.ask(c) })
	}
}

// Reaches says which cluster the call works on.
func (c *Call[A]) Reaches(cluster *target.Cluster) {
	if c == nil || cluster == nil {
		return
	}
	c.asides.mu.Lock()
	defer c.asides.mu.Unlock()
	if !c.hasRoom {
		c.owners = append(c.owners, "cluster "+cluster.Address())
	}
}

// rescue keeps a panic for the worker that takes the answer.
func (c *Call[A]) rescue() {
	if problem := recover(); problem != nil {
		c.panicked = rescue.Carry(problem)
	}
}

// result returns the answer of a call that has ended. A panic of the deployer goes on in the worker.
func (c *Call[A]) result() A {
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.answer
}

// ask lets the worker of a call leave as soon as there is room.
func (a *Asides[A]) ask(c *Call[A]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.isOver {
		return
	}
	a.waiting = append(a.waiting, c)
	a.grant()
}

// grant serves the waiting calls in order, but for those whose owners have their share. The lock has to be held.
func (a *Asides[A]) grant() {
	a.waiting = slices.DeleteFunc(a.waiting, func(c *Call[A]) bool {
		if !a.hasRoomFor(c) {
			return false
		}
		for _, owner := range c.owners {
			a.held[owner]++
		}
		a.total++
		c.hasRoom = true
		close(c.room)
		return true
	})
}

// hasRoomFor reports whether one more aside fits. While half of the room is free, everybody may take it; of the rest each owner gets so much that
// it has a quarter of all at most.
func (a *Asides[A]) hasRoomFor(c *Call[A]) bool {
	if a.total >= a.limit {
		return false
	}
	if a.total < a.limit/2 {
		return true
	}
	return !slices.ContainsFunc(c.owners, func(owner string) bool { return a.held[owner] >= max(a.limit/4, 1) })
}

// detach reports whether the call goes on without its worker; else it has ended already, or is about to with the process.
func (a *Asides[A]) detach(c *Call[A]) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.isOver || a.isStopped {
		return false
	}
	c.isDetached = true
	a.detached[c.job.Key] = c
	return true
}

// finish ends a call. A worker that has left is replaced by another one.
func (a *Asides[A]) finish(c *Call[A]) {
	a.mu.Lock()
	c.isOver = true
	a.waiting = slices.DeleteFunc(a.waiting, func(other *Call[A]) bool { return other == c })
	if c.hasRoom {
		a.total--
		for _, owner := range c.owners {
			if a.held[owner]--; a.held[owner] == 0 {
				delete(a.held, owner)
			}
		}
		a.grant()
	}
	isDetached := c.isDetached
	a.mu.Unlock()
	close(c.done)
	if isDetached {
		a.ended(c.job.Key)
	}
}

// IsBusy reports whether a call for an item goes on without a worker.
func (a *Asides[A]) IsBusy(key types.NamespacedName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.detached[key]
	return c != nil && !c.isOver
}

// Take returns the answer of a call that ended without a worker, false where there is none. The answer for another job than the one that asks is worth
// nothing.
func (a *Asides[A]) Take(asking *jobs.Job) (A, bool) {
	a.mu.Lock()
	c := a.detached[asking.Key]
	delete(a.detached, asking.Key)
	a.mu.Unlock()
	if c == nil || c.job != asking {
		var none A
		return none, false
	}
	return c.result(), true
}

// Forget drops the answer for an item that has nothing to do any more.
func (a *Asides[A]) Forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.detached[key]; c != nil && c.isOver {
		delete(a.detached, key)
	}
}

// Wait returns when the process ends and no call goes on any more: all of them end with the process.
func (a *Asides[A]) Wait(ctx context.Context) error {
	<-ctx.Done()
	a.mu.Lock()
	a.isStopped = true
	running := slices.Collect(maps.Values(a.detached))
	a.mu.Unlock()
	for _, c := range running {
		<-c.done
	}
	return nil
}
