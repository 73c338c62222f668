// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"context"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// echoLimit bounds how long a worker waits for a cache; it usually takes milliseconds.
const echoLimit = 2 * time.Second

// echo lets a worker wait until a cache shows what this process wrote, so that whoever is started next reads it there. The zero value is
// ready; it is safe for concurrent use.
type echo struct {
	mu     sync.Mutex
	signal chan struct{}
}

// changed is called after every change of the cache.
func (e *echo) changed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.signal != nil {
		close(e.signal)
		e.signal = nil
	}
}

// await returns when shown does not return false any more, which it is asked now and after each change. It returns kit.ErrStop when the
// cache lags behind for seconds.
func (e *echo) await(ctx context.Context, shown func() (bool, error)) error {
	limit, cancel := context.WithTimeout(ctx, echoLimit)
	defer cancel()
	for {
		next := e.next()
		ok, err := shown()
		if ok || err != nil {
			return err
		}
		select {
		case <-next:
		case <-limit.Done():
			return kit.ErrStop
		}
	}
}

func (e *echo) next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.signal == nil {
		e.signal = make(chan struct{})
	}
	return e.signal
}
