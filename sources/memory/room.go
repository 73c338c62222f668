// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"sync"
)

// Room bounds what calls have in memory, for each owner and for the process: the calls for one owner may have half of what the others leave of it. However
// many keep as much as they may, there is some left. It is safe for concurrent use.
type Room struct {
	size, step int64

	mu sync.Mutex
	// held is what the calls for each owner have, total what all have.
	held  map[string]int64
	total int64
	// freed is closed when something is given back.
	freed chan struct{}
}

// NewRoom returns an empty Room of a size in bytes. A call has a multiple of step, so that one that grows seldom needs more.
func NewRoom(size, step int64) *Room {
	return &Room{size: size, step: step, held: map[string]int64{}, freed: make(chan struct{})}
}

// Held returns what all calls have, in bytes.
func (r *Room) Held() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// Claim is what one call has in memory.
type Claim struct {
	room  *Room
	owner string
	// held and ended belong to the Room.
	held  int64
	ended bool
}

// Claim begins a call for an owner. It has nothing yet.
func (r *Room) Claim(owner string) *Claim { return &Claim{room: r, owner: owner} }

// End gives back what the call has. It gets nothing any more.
func (c *Claim) End() {
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	c.ended = true
	c.shrink(0)
}

// Fits gives the call room for so many bytes in all if there is some now, and reports whether it has that.
func (c *Claim) Fits(bytes int64) bool {
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	return c.grow(bytes)
}

// Wait waits until the call has room for so many bytes in all, and reports whether it has: not if ctx ends before, or if the call has ended. Who waits for more
// than an empty Room lets one owner have waits in vain. What the call has already it keeps, so that calls may wait for each other.
func (c *Claim) Wait(ctx context.Context, bytes int64) bool {
	for {
		c.room.mu.Lock()
		hasGrown, hasEnded, freed := c.grow(bytes), c.ended, c.room.freed
		c.room.mu.Unlock()
		if hasGrown || hasEnded {
			return hasGrown
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

// grow gives the call room for so many bytes, and reports whether it has that.
func (c *Claim) grow(bytes int64) bool {
	more, own := c.room.steps(bytes)-c.held, c.room.held[c.owner]
	switch {
	case c.ended:
		return false
	case more <= 0:
		return true
	case own+more > (c.room.size-(c.room.total-own))/2:
		return false
	}
	c.add(more)
	return true
}

// Holds returns what the call has, in bytes.
func (c *Claim) Holds() int64 {
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	return c.held
}

// GiveBack lets the call have no more than so many bytes.
func (c *Claim) GiveBack(to int64) {
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	c.shrink(c.room.steps(to))
}

func (c *Claim) shrink(to int64) {
	if c.held <= to {
		return
	}
	c.add(to - c.held)
	close(c.room.freed)
	c.room.freed = make(chan struct{})
}

func (c *Claim) add(more int64) {
	c.held += more
	c.room.total += more
	if c.room.held[c.owner] += more; c.room.held[c.owner] == 0 {
		delete(c.room.held, c.owner)
	}
}

// steps rounds up to whole steps.
func (r *Room) steps(bytes int64) int64 { return (bytes + r.step - 1) / r.step * r.step }
