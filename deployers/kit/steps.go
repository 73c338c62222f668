// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
)

// ErrStop ends a run of steps without failure: what is left to do needs an event.
var ErrStop = errors.New("stop")

// Step is one entry in the list of a reconciler. It reads and changes the scope S and is idempotent: it derives from what it
// observes whether there is anything to do.
type Step[S any] func(ctx context.Context, scope S) error

// Run executes steps in order up to the first error. ErrStop ends the run and is not an error.
func Run[S any](ctx context.Context, scope S, steps []Step[S]) error {
	if err := Through(ctx, scope, steps); !errors.Is(err, ErrStop) {
		return err
	}
	return nil
}

// Through executes steps that are part of another one, in order up to the first error, which it returns, ErrStop included.
func Through[S any](ctx context.Context, scope S, steps []Step[S]) error {
	for _, step := range steps {
		if err := step(ctx, scope); err != nil {
			return err
		}
	}
	return nil
}
