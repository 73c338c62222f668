// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
)

// ErrStop ends a run of phases without failure: what is left to do needs an event.
var ErrStop = errors.New("stop")

// Phase is one step of a reconciler. It reads and changes the scope S and is idempotent: it derives from what it
// observes whether there is anything to do.
type Phase[S any] func(ctx context.Context, scope S) error

// Run executes phases in order up to the first error. ErrStop ends the run and is not an error.
func Run[S any](ctx context.Context, scope S, phases []Phase[S]) error {
	if err := Through(ctx, scope, phases); !errors.Is(err, ErrStop) {
		return err
	}
	return nil
}

// Through executes phases that are part of another one, in order up to the first error, which it returns, ErrStop included.
func Through[S any](ctx context.Context, scope S, phases []Phase[S]) error {
	for _, phase := range phases {
		if err := phase(ctx, scope); err != nil {
			return err
		}
	}
	return nil
}
