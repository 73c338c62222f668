// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// errBusy says that a caller has too many requests already.
var errBusy = errors.New("too many requests wait")

// turns lets only so many requests work at a time: all together, those of one caller, and those of one caller for one namespace. So neither a slow
// registry of one namespace nor a greedy caller holds up others. The last turn of all is for a fence that has none, and the last one of a caller for a
// namespace that has none. Of those that wait, one of the caller with the fewest at work is next, for its namespace with the fewest.
type turns struct {
	all, caller, namespace int
	// waiting is how many requests of a caller may wait. Where there are more, its namespace with the most has one less.
	waiting int

	mu      sync.Mutex
	working map[tenant]int
	fences  map[string]int
	total   int
	queue   []*turn
}

func newTurns(all, caller, namespace, waiting int) *turns {
	return &turns{all: all, caller: caller, namespace: namespace, waiting: waiting, working: map[tenant]int{}, fences: map[string]int{}}
}

// tenant is who asks and for which namespace; without a namespace it is who asks for any.
type tenant struct {
	caller, namespace string
}

func (t tenant) anywhere() tenant { return tenant{caller: t.caller} }

// turn is a request that waits.
type turn struct {
	tenant tenant
	// begin gets nil when the turn begins, or errBusy where it never will.
	begin chan error
}

// take waits for a turn, and returns the function that ends it.
func (t *turns) take(ctx context.Context, of tenant) (func(), error) {
	own := t.enter(of)
	select {
	case err := <-own.begin:
		if err != nil {
			return nil, err
		}
		return func() { t.end(of) }, nil
	case <-ctx.Done():
		t.leave(own)
		return nil, ctx.Err()
	}
}

// enter puts a request at the end of the queue. It may be that it begins at once, or that one more is too many.
func (t *turns) enter(of tenant) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := &turn{of, make(chan error, 1)}
	t.queue = append(t.queue, own)
	t.next()
	t.turnAway(of.caller)
	return own
}

// turnAway refuses the last request of the namespace for which most wait, where more of a caller wait than may.
func (t *turns) turnAway(caller string) {
	count, waits := 0, map[tenant]int{}
	for _, one := range t.queue {
		if one.tenant.caller == caller {
			count++
			waits[one.tenant]++
		}
	}
	if count <= t.waiting {
		return
	}
	last := -1
	for i, one := range t.queue {
		if one.tenant.caller == caller && (last < 0 || waits[one.tenant] >= waits[t.queue[last].tenant]) {
			last = i
		}
	}
	t.pop(last).begin <- errBusy
}

// pop takes a request out of the queue.
func (t *turns) pop(at int) *turn {
	one := t.queue[at]
	t.queue = slices.Delete(t.queue, at, at+1)
	return one
}

// leave takes a request out of the queue, or ends its turn where that has just begun.
func (t *turns) leave(own *turn) {
	t.mu.Lock()
	at := slices.Index(t.queue, own)
	if at >= 0 {
		t.pop(at)
	}
	t.mu.Unlock()
	if at < 0 && <-own.begin == nil {
		t.end(own.tenant)
	}
}

func (t *turns) end(of tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(of, -1)
	t.next()
}

func (t *turns) count(of tenant, by int) {
	t.total += by
	add(t.fences, fenceOf(of.caller), by)
	add(t.working, of.anywhere(), by)
	if of.namespace != "" {
		add(t.working, of, by)
	}
}

// add changes a number, and forgets it where it is nothing.
func add[K comparable](numbers map[K]int, key K, by int) {
	if numbers[key] += by; numbers[key] == 0 {
		delete(numbers, key)
	}
}

// next begins the turns that there is room for.
func (t *turns) next() {
	for {
		best := -1
		for i, one := range t.queue {
			if t.mayBegin(one.tenant) && (best < 0 || t.compare(one.tenant, t.queue[best].tenant) < 0) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		one := t.pop(best)
		t.count(one.tenant, 1)
		one.begin <- nil
	}
}

// mayBegin reports whether there is a turn for a request.
func (t *turns) mayBegin(of tenant) bool {
	ofCaller, ofNamespace := t.working[of.anywhere()], t.working[of]
	switch {
	case t.total >= t.all, ofCaller >= t.caller, ofNamespace >= t.namespace:
		return false
	case t.total == t.all-1 && t.fences[fenceOf(of.caller)] > 0:
		return false
	}
	return of.namespace == "" || ofCaller < t.caller-1 || ofNamespace == 0
}

// compare is negative where a request comes before one that waits for longer.
func (t *turns) compare(a, b tenant) int {
	return cmp.Or(cmp.Compare(t.working[a.anywhere()], t.working[b.anywhere()]), cmp.Compare(t.working[a], t.working[b]))
}
