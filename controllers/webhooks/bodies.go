// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

const (
	// maxBody is how many bytes of a request are read.
	maxBody = 7 << 20
	// bodyTime is how long a request may take to arrive: no API server waits longer.
	bodyTime = callTimeout * time.Second
	// turnTime is how long a request waits for others, so that the API server hears of it.
	turnTime = 5 * time.Second
)

// newBodies has room for the requests that are read and answered at the same time: half of it for one address, so that an API server has some
// left whatever a Pod sends.
func newBodies() *memory.Room { return memory.NewRoom(64<<20, 4<<10) }

// bounded answers with another handler what arrives in time and has room in memory.
type bounded struct {
	bodies *memory.Room
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
	claim := b.bodies.Claim(sender(r))
	defer claim.End()
	ctx, cancel := context.WithTimeout(r.Context(), turnTime)
	defer cancel()
	if !claim.Wait(ctx, size(r)) {
		http.Error(w, "too many large requests at the same time; try again", http.StatusServiceUnavailable)
		return
	}
	b.next.ServeHTTP(w, r)
}

// size is how many bytes of the body may be read.
func size(r *http.Request) int64 {
	if r.ContentLength < 0 || r.ContentLength > maxBody {
		return maxBody
	}
	return r.ContentLength
}

// sender is the address of whoever sends the request, without its port.
func sender(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}
