// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"container/list"
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// laneWidth is how many clusters of one namespace are asked at the same time.
const laneWidth = 2

// lanes ask clusters, a few of each namespace at a time and in order. Clusters that do not answer delay the checks of their own namespace only.
// It is safe for concurrent use.
type lanes struct {
	mu  sync.Mutex
	ctx context.Context
	// of are the lanes of the namespaces that have checks.
	of map[string]*lane
}

// lane is the checks of one namespace.
type lane struct {
	// running is how many have begun.
	running int
	// order are the others, and at where there the check of a Target is: one at most, so that who changes a Target all the time waits but once.
	order list.List
	at    map[types.NamespacedName]*list.Element
}

// waiting is a check that has not begun.
type waiting struct {
	key   types.NamespacedName
	check func(context.Context)
}

// open prepares the lanes. The function that it returns ends all checks.
func (l *lanes) open() (stop func()) {
	l.of = map[string]*lane{}
	l.ctx, stop = context.WithCancel(context.Background())
	return stop
}

// add begins the check of a Target as soon as its namespace has room for it, in place of one that waits already.
func (l *lanes) add(key types.NamespacedName, check func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.of[key.Namespace]
	if own == nil {
		own = &lane{at: map[types.NamespacedName]*list.Element{}}
		l.of[key.Namespace] = own
	}
	own.drop(key)
	own.at[key] = own.order.PushBack(waiting{key, check})
	if own.running < laneWidth {
		own.running++
		go l.work(own, key.Namespace)
	}
}

// drop forgets the check of a Target that has not begun.
func (l *lanes) drop(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.of[key.Namespace]; own != nil {
		own.drop(key)
	}
}

func (l *lane) drop(key types.NamespacedName) {
	if at, waits := l.at[key]; waits {
		l.order.Remove(at)
		delete(l.at, key)
	}
}

func (l *lanes) work(own *lane, namespace string) {
	for check := l.next(own, namespace); check != nil; check = l.next(own, namespace) {
		check(l.ctx)
	}
}

// next returns the next check of a namespace; without one its lane ends.
func (l *lanes) next(own *lane, namespace string) func(context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := own.order.Front(); first != nil && l.ctx.Err() == nil {
		next := first.Value.(waiting)
		own.drop(next.key)
		return next.check
	}
	if own.running--; own.running == 0 {
		delete(l.of, namespace)
	}
	return nil
}
