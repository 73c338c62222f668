// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
)

// lockKey identifies a release as it is reached over one connection: nobody can hold up others by naming their cluster. Of two connections to one
// cluster the second one finds the release pending.
type lockKey struct {
	connection, namespace, name string
}

// locks lets one operation at a time work on a release.
type locks struct {
	mu   sync.Mutex
	held map[lockKey]chan struct{}
}

func newLocks() *locks {
	return &locks{held: map[lockKey]chan struct{}{}}
}

// lock waits for its turn; it returns the function that ends the turn, or the context's error.
func (l *locks) lock(ctx context.Context, key lockKey) (func(), error) {
	for {
		l.mu.Lock()
		taken, ok := l.held[key]
		if !ok {
			mine := make(chan struct{})
			l.held[key] = mine
			l.mu.Unlock()
			return func() { l.release(key, mine) }, nil
		}
		l.mu.Unlock()
		select {
		case <-taken:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (l *locks) release(key lockKey, mine chan struct{}) {
	l.mu.Lock()
	delete(l.held, key)
	l.mu.Unlock()
	close(mine)
}
