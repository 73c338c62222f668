// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// ownerRoom is how many bytes of records the calls for one owner may have in memory together, and processRoom those for all owners.
	ownerRoom   = maxRecords
	processRoom = 2 * ownerRoom
	// roomStep is the unit of claims in bytes. A release that grows while a call works on it seldom needs another one.
	roomStep = 4 << 20
	// smallRecords is up to how many bytes records count for nothing: nobody waits with them.
	smallRecords = 1 << 20
	// patience is for how long a call waits for others. It may hold what one of them waits for, so it begins anew then.
	patience = 10 * time.Second
)

// ErrBusy says that the records of a release have to wait for others.
var ErrBusy = errors.New("its records are large, and other calls have as many records in memory as the namespace, or the deployer, may have at a time")

// Room bounds what the records that are read take in memory, for each owner and for the process. It is safe for concurrent use.
type Room struct {
	process *semaphore.Weighted
	mu      sync.Mutex
	owners  map[string]*ownersRoom
}

// ownersRoom is what is free for an owner, and how many claims of his there are.
type ownersRoom struct {
	*semaphore.Weighted
	claims int
}

// NewRoom returns an empty Room.
func NewRoom() *Room {
	return &Room{process: semaphore.NewWeighted(processRoom), owners: map[string]*ownersRoom{}}
}

// Claim is what one call has in memory: as much as the largest history that it has read. Nil is one without limit.
type Claim struct {
	room  *Room
	owner string
	own   *ownersRoom

	mu    sync.Mutex
	held  int64
	ended bool
}

// Claim begins a call for an owner.
func (r *Room) Claim(owner string) *Claim {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[owner] == nil {
		r.owners[owner] = &ownersRoom{Weighted: semaphore.NewWeighted(ownerRoom)}
	}
	r.owners[owner].claims++
	return &Claim{room: r, owner: owner, own: r.owners[owner]}
}

// End gives back what the call has. Whatever goes on for it may read no large records any more.
func (c *Claim) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	c.shrink(0)
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	if c.own.claims--; c.own.claims == 0 {
		delete(c.room.owners, c.owner)
	}
}

// fits reports whether the call may have so many bytes of records in memory, without a wait.
func (c *Claim) fits(bytes int) bool {
	if c == nil || bytes <= smallRecords {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	more := steps(bytes) - c.held
	switch {
	case more <= 0:
		return true
	case c.ended || !c.own.TryAcquire(more):
		return false
	case !c.room.process.TryAcquire(more):
		c.own.Release(more)
		return false
	}
	c.held += more
	return true
}

// wait is fits for a call that has time. The error is ErrBusy, or that of ctx.
func (c *Claim) wait(ctx context.Context, bytes int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	more := steps(bytes) - c.held
	if c.ended {
		return ErrBusy
	}
	if more <= 0 {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := c.own.Acquire(waiting, more)
	if err == nil {
		if err = c.room.process.Acquire(waiting, more); err != nil {
			c.own.Release(more)
		}
	}
	switch {
	case err == nil:
		c.held += more
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return ErrBusy
}

// holds returns what the call has.
func (c *Claim) holds() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// giveBack lets the call have no more than it had before.
func (c *Claim) giveBack(before int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shrink(before)
}

func (c *Claim) shrink(to int64) {
	free := c.held - to
	if free <= 0 {
		return
	}
	c.own.Release(free)
	c.room.process.Release(free)
	c.held = to
}

// steps rounds up to whole steps.
func steps(bytes int) int64 {
	return (int64(bytes) + roomStep - 1) / roomStep * roomStep
}
