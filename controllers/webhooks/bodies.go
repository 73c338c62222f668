// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxBody is how many bytes of a request are read.
	maxBody = 7 << 20
	// bodyTime is how long a request may take to arrive: no API server waits longer.
	bodyTime = callTimeout * time.Second
	// turnTime is how long a request waits for others, so that the API server hears of it.
	turnTime = 5 * time.Second
)

// newBodies has room for the requests that are read and answered at the same time.
func newBodies() *semaphore.Weighted { return semaphore.NewWeighted(64 << 20) }

// bounded answers with another handler what arrives in time and has room in memory.
type bounded struct {
	bodies *semaphore.Weighted
	// within is how long a request may take to arrive.
	within time.Duration
	next   http.Handler
}

// ServeHTTP waits for room for the body, as long as it says to be, before anything of it is read.
func (b bounded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(b.within)); err != nil {
		http.Error(w, "the time of the request cannot be limited", http.StatusInternalServerError)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), turnTime)
	defer cancel()
	// The context of a request that arrived before the process was told to end is over, and the request is answered all the same.
	if !b.bodies.TryAcquire(size(r)) && b.bodies.Acquire(ctx, size(r)) != nil {
		http.Error(w, "too many large requests at the same time; try again", http.StatusServiceUnavailable)
		return
	}
	defer b.bodies.Release(size(r))
	b.next.ServeHTTP(w, r)
}

// size is how many bytes of the body may be read.
func size(r *http.Request) int64 {
	if r.ContentLength < 0 || r.ContentLength > maxBody {
		return maxBody
	}
	return r.ContentLength
}
