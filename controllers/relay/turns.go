// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errBusy says that a caller has too many requests already.
var errBusy = errors.New("too many requests wait")

// turns lets only so many requests work at a time: all together, those of one caller, and those of one caller for one namespace. So neither a slow
// registry of one namespace nor a greedy caller holds up others. Of those that wait, one of the caller with the fewest at work is next.
type turns struct {
	all, caller, namespace int
	// waiting is how many requests of a caller may wait.
	waiting int

	mu      sync.Mutex
	working map[tenant]int
	total   int
	queue   []*turn
}

// tenant is who asks and for which namespace; without a namespace it is who asks for any.
type tenant struct {
	caller, namespace string
}

func (t tenant) anywhere() tenant { return tenant{caller: t.caller} }

// turn is a request that waits.
type turn struct {
	tenant tenant
	begin  chan struct{}
}

// take waits for a turn, and returns the function that ends it.
func (t *turns) take(ctx context.Context, of tenant) (func(), error) {
	t.mu.Lock()
	t.queue = append(t.queue, &turn{of, make(chan struct{})})
	own := t.queue[len(t.queue)-1]
	t.next()
	if t.waits(of.caller) > t.waiting {
		t.drop(own)
		t.mu.Unlock()
		return nil, errBusy
	}
	t.mu.Unlock()
	select {
	case <-own.begin:
		return func() { t.end(of) }, nil
	case <-ctx.Done():
		t.leave(own)
		return nil, ctx.Err()
	}
}

func (t *turns) waits(caller string) int {
	count := 0
	for _, one := range t.queue {
		if one.tenant.caller == caller {
			count++
		}
	}
	return count
}

// drop takes a request out of the queue and reports whether it was there.
func (t *turns) drop(own *turn) bool {
	at := slices.Index(t.queue, own)
	if at >= 0 {
		t.queue = slices.Delete(t.queue, at, at+1)
	}
	return at >= 0
}

// leave takes a request out of the queue, or ends its turn where that has just begun.
func (t *turns) leave(own *turn) {
	t.mu.Lock()
	dropped := t.drop(own)
	t.mu.Unlock()
	if !dropped {
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
	for _, key := range []tenant{of, of.anywhere()} {
		if t.working[key] += by; t.working[key] == 0 {
			delete(t.working, key)
		}
	}
}

// next begins the turns that there is room for.
func (t *turns) next() {
	for t.total < t.all {
		best := -1
		for i, one := range t.queue {
			if t.working[one.tenant] >= t.namespace || t.working[one.tenant.anywhere()] >= t.caller {
				continue
			}
			if best < 0 || t.working[one.tenant.anywhere()] < t.working[t.queue[best].tenant.anywhere()] {
				best = i
			}
		}
		if best < 0 {
			return
		}
		one := t.queue[best]
		t.queue = slices.Delete(t.queue, best, best+1)
		t.count(one.tenant, 1)
		close(one.begin)
	}
}
