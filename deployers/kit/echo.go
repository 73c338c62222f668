// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"sync"
	"time"
)

// echoLimit bounds how long a worker waits for a cache; it usually takes milliseconds.
const echoLimit = 2 * time.Second

// Echo lets a worker wait until a cache shows what this process wrote, so that whoever is started next reads it there. The zero value is
// ready; it is safe for concurrent use.
type Echo struct {
	mu     sync.Mutex
	signal chan struct{}
}

// Changed is called after every change of the cache.
func (e *Echo) Changed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.signal != nil {
		close(e.signal)
		e.signal = nil
	}
}

// Await returns when shown does not return false any more, which it is asked now and after each change. It returns ErrStop when the
// cache lags behind for seconds.
func (e *Echo) Await(ctx context.Context, shown func() (bool, error)) error {
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
			return ErrStop
		}
	}
}

func (e *Echo) next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.signal == nil {
		e.signal = make(chan struct{})
	}
	return e.signal
}
