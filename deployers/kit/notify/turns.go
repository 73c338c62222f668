// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"slices"
	"sync"
	"time"
)

// turns are events that wait, of which those of each namespace come in turn. Where there is no room, the namespace that has most of what is short loses its
// last one. They are safe for concurrent use by one who takes.
type turns[E any] struct {
	most, mostBytes int64
	// added has a value when something may wait.
	added chan struct{}

	mu           sync.Mutex
	count, bytes int64
	lines        map[string]*line[E]
	// order are the namespaces with something that waits, the next one first.
	order []string
	// ended says that nobody takes any more.
	ended bool
}

// line is what waits of a namespace.
type line[E any] struct {
	waiting []sized[E]
	bytes   int64
}

type sized[E any] struct {
	event E
	bytes int64
}

func newTurns[E any](most, mostBytes int64) *turns[E] {
	return &turns[E]{most: most, mostBytes: mostBytes, added: make(chan struct{}, 1), lines: map[string]*line[E]{}}
}

// put adds an event and returns how many were dropped. Where nobody takes any more it adds nothing, and ok is false.
func (t *turns[E]) put(namespace string, event E, bytes int) (dropped int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return 0, false
	}
	own := t.lines[namespace]
	if own == nil {
		own = &line[E]{}
		t.lines[namespace] = own
		t.order = append(t.order, namespace)
	}
	own.waiting = append(own.waiting, sized[E]{event, int64(bytes)})
	t.add(own, 1, int64(bytes))
	for t.count > t.most || t.bytes > t.mostBytes {
		t.drop(t.heaviest(namespace))
		dropped++
	}
	select {
	case t.added <- struct{}{}:
	default:
	}
	return dropped, true
}

// heaviest returns the namespace that has most of what is short, rather the given one than another that has as much.
func (t *turns[E]) heaviest(namespace string) string {
	weight := func(namespace string) int64 {
		if t.bytes > t.mostBytes {
			return t.lines[namespace].bytes
		}
		return int64(len(t.lines[namespace].waiting))
	}
	for _, other := range t.order {
		if t.lines[namespace] == nil || weight(other) > weight(namespace) {
			namespace = other
		}
	}
	return namespace
}

// drop removes the last event of a namespace.
func (t *turns[E]) drop(namespace string) {
	own := t.lines[namespace]
	last := len(own.waiting) - 1
	t.add(own, -1, -own.waiting[last].bytes)
	own.waiting = slices.Delete(own.waiting, last, last+1)
	if last == 0 {
		delete(t.lines, namespace)
		t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == namespace })
	}
}

func (t *turns[E]) add(own *line[E], count, bytes int64) {
	t.count += count
	t.bytes += bytes
	own.bytes += bytes
}

// take returns the event whose turn it is, if any waits.
func (t *turns[E]) take() (event E, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		return event, false
	}
	namespace := t.order[0]
	t.order = slices.Delete(t.order, 0, 1)
	own := t.lines[namespace]
	first := own.waiting[0]
	t.add(own, -1, -first.bytes)
	own.waiting = slices.Delete(own.waiting, 0, 1)
	if len(own.waiting) == 0 {
		delete(t.lines, namespace)
	} else {
		t.order = append(t.order, namespace)
	}
	return first.event, true
}

// length is how many events wait.
func (t *turns[E]) length() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// size is how many bytes they have.
func (t *turns[E]) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}

// serve delivers one event after the other until ctx ends, and then for some time what is left.
func (t *turns[E]) serve(ctx context.Context, lastCall time.Duration, deliver func(context.Context, E)) {
	for ctx.Err() == nil {
		if event, ok := t.take(); ok {
			deliver(ctx, event)
			continue
		}
		select {
		case <-ctx.Done():
		case <-t.added:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCall)
	defer cancel()
	for !t.end(last.Err() != nil) {
		if event, ok := t.take(); ok {
			deliver(last, event)
		}
	}
}

// outlasting returns a context that ends some time after another one, so that what was sent then is still answered.
func outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() { stop(); cancel() }
}

// end lets nobody put anything any more, if nothing waits or what waits is given up. It reports whether it did.
func (t *turns[E]) end(givenUp bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = givenUp || len(t.order) == 0
	return t.ended
}
