// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"sync"
)

// laneWidth is how many clusters of one namespace are asked at the same time.
const laneWidth = 2

// lanes ask clusters, a few of each namespace at a time and in order. Clusters that do not answer delay the checks of their own namespace only.
// It is safe for concurrent use.
type lanes struct {
	mu  sync.Mutex
	ctx context.Context
	// waiting are the checks of each namespace that have not begun, running is how many have.
	waiting map[string][]func(context.Context)
	running map[string]int
}

// open prepares the lanes. The function that it returns ends all checks.
func (l *lanes) open() (stop func()) {
	l.waiting, l.running = map[string][]func(context.Context){}, map[string]int{}
	l.ctx, stop = context.WithCancel(context.Background())
	return stop
}

// add begins a check as soon as its namespace has room for it.
func (l *lanes) add(namespace string, check func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[namespace] = append(l.waiting[namespace], check)
	if l.running[namespace] < laneWidth {
		l.running[namespace]++
		go l.work(namespace)
	}
}

func (l *lanes) work(namespace string) {
	for check := l.next(namespace); check != nil; check = l.next(namespace) {
		check(l.ctx)
	}
}

// next returns the next check of a namespace; without one its lane ends.
func (l *lanes) next(namespace string) func(context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := l.waiting[namespace]; len(left) > 0 && l.ctx.Err() == nil {
		l.waiting[namespace] = left[1:]
		return left[0]
	}
	delete(l.waiting, namespace)
	if l.running[namespace]--; l.running[namespace] == 0 {
		delete(l.running, namespace)
	}
	return nil
}
