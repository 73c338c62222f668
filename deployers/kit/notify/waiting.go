// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"sync"
	"time"
)

// waiting are events that wait for one who takes them, in order. Where there are too many, a new one is dropped. They are safe for concurrent use.
type waiting[E any] struct {
	// added has a value when something may wait.
	added chan struct{}

	mu     sync.Mutex
	events []sized[E]
	bytes  int
	// ended says that nobody takes any more.
	ended bool
}

type sized[E any] struct {
	event E
	bytes int
}

func newWaiting[E any]() *waiting[E] { return &waiting[E]{added: make(chan struct{}, 1)} }

// put adds an event, or drops it where there is no room. Where nobody takes any more it does nothing, and ok is false.
func (w *waiting[E]) put(event E, bytes int) (isDropped, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false, false
	}
	if len(w.events) >= maxQueuedEvents || w.bytes+bytes > maxQueuedEventBytes {
		return true, true
	}
	w.events = append(w.events, sized[E]{event, bytes})
	w.bytes += bytes
	select {
	case w.added <- struct{}{}:
	default:
	}
	return false, true
}

// take returns the next event, if any waits.
func (w *waiting[E]) take() (event E, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 {
		return event, false
	}
	first := w.events[0]
	w.events = w.events[1:]
	w.bytes -= first.bytes
	return first.event, true
}

// serve delivers one event after the other until ctx ends, and then for some time what is left.
func (w *waiting[E]) serve(ctx context.Context, lastCall time.Duration, deliver func(context.Context, E)) {
	for ctx.Err() == nil {
		if event, ok := w.take(); ok {
			deliver(ctx, event)
			continue
		}
		select {
		case <-ctx.Done():
		case <-w.added:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCall)
	defer cancel()
	for !w.end(last.Err() != nil) {
		if event, ok := w.take(); ok {
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
func (w *waiting[E]) end(givenUp bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = givenUp || len(w.events) == 0
	return w.ended
}
