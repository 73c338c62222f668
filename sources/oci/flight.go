// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
)

// flights lets all callers of one thing wait for one piece of work, which ends when the last of them has left.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
}

type flight struct {
	done    chan struct{}
	err     error
	waiting int
	cancel  context.CancelFunc
}

// do waits for the work of key, and starts it if nobody has. The work has the values of the first caller's context, but
// its own end. A panic of the work goes on in all who wait.
func (f *flights) do(ctx context.Context, key string, timeout time.Duration, work func(context.Context) error) error {
	one := f.board(ctx, key, timeout, work)
	defer f.leave(key, one)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-one.done:
		return rescue.Landed(one.err)
	}
}

func (f *flights) board(ctx context.Context, key string, timeout time.Duration, work func(context.Context) error) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one, ok := f.running[key]; ok {
		one.waiting++
		return one
	}
	own, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timeout, timedOut(timeout))
	one := &flight{done: make(chan struct{}), waiting: 1, cancel: cancel}
	if f.running == nil {
		f.running = map[string]*flight{}
	}
	f.running[key] = one
	go func() {
		one.err = rescue.Caught(func() error { return work(own) })
		f.end(key, one)
		cancel()
		close(one.done)
	}()
	return one
}

// leave cancels the work if nobody waits for it any more.
func (f *flights) leave(key string, one *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one.waiting--
	if one.waiting > 0 {
		return
	}
	if f.running[key] == one {
		delete(f.running, key)
	}
	one.cancel()
}

// end takes a flight off the board: who comes later starts another.
func (f *flights) end(key string, one *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[key] == one {
		delete(f.running, key)
	}
}

// timeoutError ends a call; it says how long that took.
type timeoutError struct{ limit time.Duration }

func timedOut(limit time.Duration) error { return &timeoutError{limit} }

// Error names the limit.
func (e *timeoutError) Error() string {
	return "timeout: the registry did not answer within " + e.limit.String()
}

// Is makes it a context.DeadlineExceeded.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ended returns why the context of a failed request ended, if that is the reason.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
	return err
}
