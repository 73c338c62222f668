// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
)

// flights lets all callers of one thing wait for one piece of work. That goes on when they have left, up to its timeout: who asks again later finds what
// came meanwhile, however little time each of them has.
type flights struct{ group singleflight.Group }

// do waits for the work of key, and starts it if nobody has. The work has the values of the first caller's context, but its own end. A panic of the work
// goes on in all who wait.
func (f *flights) do(ctx context.Context, key string, timeout time.Duration, work func(context.Context) error) error {
	done := f.group.DoChan(key, func() (any, error) {
		own, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timeout, timedOut(timeout))
		defer cancel()
		return nil, rescue.Caught(func() error { return work(own) })
	})
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case result := <-done:
		return rescue.Landed(result.Err)
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
