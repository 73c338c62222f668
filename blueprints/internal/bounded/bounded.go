// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package bounded runs library calls that cannot be stopped from outside. It promises nothing to others.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Errors of Run.
var (
	// ErrTime says that the call takes longer than its limit.
	ErrTime = errors.New("it runs too long")
	// ErrBusy says that too many calls are running.
	ErrBusy = errors.New("too much is running at the same time; try again")
)

// Pool caps the calls that have not ended, also those that nobody waits for any more. Make one with NewPool.
type Pool struct{ running chan struct{} }

// NewPool returns a Pool for at most size calls.
func NewPool(size int) *Pool { return &Pool{running: make(chan struct{}, size)} }

// Run calls f and waits at most for the limit. A call that takes longer is left behind: it gets a canceled context, keeps its place
// in the pool and ends by itself. Run returns ErrTime then, ErrBusy when no place got free within the limit, and an error for a
// panic of f; a panic with an error that f threw on purpose comes back as this error when thrown says so.
func Run[T any](ctx context.Context, pool *Pool, limit time.Duration, thrown func(error) bool, f func(context.Context) (T, error)) (T, error) {
	var none T
	if !pool.enter(ctx, limit) {
		return none, ErrBusy
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan outcome[T], 1)
	go func() {
		defer func() { <-pool.running }()
		done <- guarded(ctx, thrown, f)
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return none, ErrTime
	}
}

func (p *Pool) enter(ctx context.Context, limit time.Duration) bool {
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	select {
	case p.running <- struct{}{}:
		return true
	case <-waiting.Done():
		return false
	}
}

type outcome[T any] struct {
	value T
	err   error
}

func guarded[T any](ctx context.Context, thrown func(error) bool, f func(context.Context) (T, error)) (o outcome[T]) {
	defer func() {
		if r := recover(); r != nil {
			o.err = recovered(r, thrown)
		}
	}()
	o.value, o.err = f(ctx)
	return o
}

// recovered leaves out what was thrown, because it may contain data.
func recovered(r any, thrown func(error) bool) error {
	if err, ok := r.(error); ok && thrown != nil && thrown(err) {
		return err
	}
	return fmt.Errorf("the engine panicked (%T) at %s", r, firstFrame(debug.Stack()))
}

// firstFrame finds the function that panicked in a stack trace.
func firstFrame(stack []byte) string {
	_, rest, found := strings.Cut(string(stack), "\npanic(")
	if !found {
		return runtime.Version()
	}
	for _, line := range strings.Split(rest, "\n")[2:] {
		name, _, _ := strings.Cut(line, "(")
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(name, "runtime") && !strings.HasPrefix(name, "panic") {
			return path.Base(name)
		}
	}
	return runtime.Version()
}
