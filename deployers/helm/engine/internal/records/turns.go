// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// atOnce is the time that the calls for one owner may need to unpack large records at any moment, beside their share. It is long, because a call that waits
// keeps room that others of its owner wait for, and on a busy machine a call needs more time for the same work.
const atOnce = 30 * time.Second

// shareOf returns the part of all time in which the calls for one owner may unpack large records: an eighth of the processors of the process, of which that
// keeps one busy at most.
func shareOf(processors int) float64 { return min(float64(processors)/8, 1) }

// unbound is held while a large record is unpacked for a call without a claim.
var unbound sync.Mutex

// turns let the calls for one owner unpack one after the other, so that no more than one of them waits for others, and no faster than their share, so that
// the processor is left to others.
type turns struct {
	// unpacking has a value while a large record is unpacked, which is much larger than what a cluster sent.
	unpacking chan struct{}
	// share is the part of all time that each owner has.
	share float64

	mu     sync.Mutex
	owners map[string]*turn
}

func newTurns() *turns {
	return &turns{unpacking: make(chan struct{}, 1), share: shareOf(runtime.GOMAXPROCS(0)), owners: map[string]*turn{}}
}

// turn is that of one owner.
type turn struct {
	// taken has a value while a call has the turn.
	taken chan struct{}
	// time is what is left of the share, in nanoseconds.
	time *rate.Limiter
	// users counts the calls that have the turn, wait for it, or have taken time that has not come back yet.
	users int
}

// errNoTurn says that a call ended before it could unpack a large record.
var errNoTurn = errors.New("large records of a namespace are read one after the other, and it was not the turn of this one in time")

// takeTurn waits until a call may unpack a large record, and returns the function that ends its turn. The error is errNoTurn, with that of the context.
func (b Bound) takeTurn() (end func(), err error) {
	if b.Claim == nil {
		unbound.Lock()
		return unbound.Unlock, nil
	}
	all, owner := b.Claim.room.turns, b.Claim.owner
	own := all.of(owner)
	leave := func() { all.leave(owner) }
	if err := own.take(b.Context, b.waits); err != nil {
		leave()
		return nil, fmt.Errorf("%w: %w", errNoTurn, err)
	}
	all.unpacking <- struct{}{}
	began := time.Now()
	return func() {
		took := time.Since(began)
		<-all.unpacking
		time.AfterFunc(own.end(took), leave)
	}, nil
}

// take waits for the turn, and until there is time again. It calls waits before the latter.
func (t *turn) take(ctx context.Context, waits func()) error {
	select {
	case t.taken <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if t.time.Tokens() < 0 {
		waits()
	}
	if err := t.time.WaitN(ctx, 0); err != nil {
		<-t.taken
		return cmp.Or(context.Cause(ctx), context.DeadlineExceeded)
	}
	return nil
}

// end ends a turn that took some time, and returns after how long all the time of the owner has come back.
func (t *turn) end(took time.Duration) time.Duration {
	defer func() { <-t.taken }()
	now := time.Now()
	for left := took; left > 0; left -= atOnce {
		t.time.ReserveN(now, int(min(left, atOnce)))
	}
	return time.Duration((float64(atOnce) - t.time.TokensAt(now)) / float64(t.time.Limit()) * float64(time.Second))
}

func (t *turns) of(owner string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owners[owner] == nil {
		t.owners[owner] = &turn{taken: make(chan struct{}, 1), time: rate.NewLimiter(rate.Limit(t.share*float64(time.Second)), int(atOnce))}
	}
	t.owners[owner].users++
	return t.owners[owner]
}

func (t *turns) leave(owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owners[owner].users--; t.owners[owner].users == 0 {
		delete(t.owners, owner)
	}
}
