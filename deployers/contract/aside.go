// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// longCall is how long a call keeps its worker when the deployer does not say earlier that it waits.
const longCall = time.Second

// asides are the calls that go on without a worker, because they wait for something. At their end the item comes back to a worker, which reports
// the answer. Until then no other call for the item begins. It is safe for concurrent use.
type asides struct {
	// limit is how many there are at most; 0 means none.
	limit int
	// ended is called when one has ended, with no lock held.
	ended func(types.NamespacedName)

	mu sync.Mutex
	// detached are the calls whose worker has left.
	detached map[types.NamespacedName]*call
	// held counts the asides of each owner, total all of them.
	held  map[string]int
	total int
	// waiting are the calls whose worker may leave as soon as there is room; the oldest comes first.
	waiting []*call
	// isStopped says that the process ends, so that no worker leaves any more: it would not be waited for.
	isStopped bool
}

// call is one call of the deployer. A nil one keeps its worker.
type call struct {
	asides *asides
	// scope is the call's own, with the answer once done is closed.
	scope *scope
	// room is closed when the worker may leave, done when the call has ended.
	room, done chan struct{}
	// asked lets the worker leave once.
	asked sync.Once

	// The rest is guarded by the lock of the asides. owners share them: the namespace of the item, and the cluster of its Target.
	owners                      []string
	hasRoom, isDetached, isOver bool
	// panicked is what the deployer broke off with, nil when it did not.
	panicked any
}

// run makes a call of the deployer. It returns the scope with the answer, or nil when the worker leaves.
func (a *asides) run(s *scope, work func(*scope, *call)) *scope {
	if a.limit <= 0 {
		work(s, nil)
		return s
	}
	own := *s
	c := &call{
		asides: a, scope: &own, owners: []string{"namespace " + s.item.Namespace}, room: make(chan struct{}), done: make(chan struct{}),
	}
	impatient := time.AfterFunc(longCall, c.leave)
	go func() {
		defer a.finish(c)
		defer impatient.Stop()
		defer c.rescue()
		work(c.scope, c)
	}()
	select {
	case <-c.done:
	case <-c.room:
		if a.detach(c) {
			return nil
		}
		<-c.done
	}
	return c.answer()
}

// leave says that the call has to wait.
func (c *call) leave() {
	if c != nil {
		c.asked.Do(func() { c.asides.ask(c) })
	}
}

// reaches says which cluster the call works on.
func (c *call) reaches(cluster *target.Cluster) {
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
func (c *call) rescue() {
	if problem := recover(); problem != nil {
		c.panicked = fmt.Sprintf("%v\n\n%s", problem, debug.Stack())
	}
}

// answer returns the scope of a call that has ended. A panic of the deployer goes on in the worker.
func (c *call) answer() *scope {
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.scope
}

// ask lets the worker of a call leave as soon as there is room.
func (a *asides) ask(c *call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.isOver {
		return
	}
	a.waiting = append(a.waiting, c)
	a.grant()
}

// grant serves the waiting calls in order, but for those whose owners have their share. The lock has to be held.
func (a *asides) grant() {
	a.waiting = slices.DeleteFunc(a.waiting, func(c *call) bool {
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
func (a *asides) hasRoomFor(c *call) bool {
	if a.total >= a.limit {
		return false
	}
	if a.total < a.limit/2 {
		return true
	}
	return !slices.ContainsFunc(c.owners, func(owner string) bool { return a.held[owner] >= max(a.limit/4, 1) })
}

// detach reports whether the call goes on without its worker; else it has ended already, or is about to with the process.
func (a *asides) detach(c *call) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.isOver || a.isStopped {
		return false
	}
	c.isDetached = true
	a.detached[c.scope.job.key] = c
	return true
}

// finish ends a call. A worker that has left is replaced by another one.
func (a *asides) finish(c *call) {
	a.mu.Lock()
	c.isOver = true
	a.waiting = slices.DeleteFunc(a.waiting, func(other *call) bool { return other == c })
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
		a.ended(c.scope.job.key)
	}
}

// isBusy reports whether a call for an item goes on without a worker.
func (a *asides) isBusy(key types.NamespacedName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.detached[key]
	return c != nil && !c.isOver
}

// take returns the scope with the answer of a call that ended without a worker, nil where there is none. The answer for another job than the one
// that asks is worth nothing.
func (a *asides) take(asking *job) *scope {
	a.mu.Lock()
	c := a.detached[asking.key]
	delete(a.detached, asking.key)
	a.mu.Unlock()
	if c == nil || c.scope.job != asking {
		return nil
	}
	return c.answer()
}

// forget drops the answer for an item that has nothing to do any more.
func (a *asides) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.detached[key]; c != nil && c.isOver {
		delete(a.detached, key)
	}
}

// wait returns when the process ends and no call goes on any more: all of them end with the process.
func (a *asides) wait(ctx context.Context) error {
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
