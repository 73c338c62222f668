// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// processRoom is how many bytes of records the calls for all owners may have in memory together. Those for one owner may have half of what the others
	// leave of it, maxRecords where they have none: however many keep as much as they may, there is some left.
	processRoom = 2 * maxRecords
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
	// size is what there is for all owners, in bytes.
	size int64
	// answers is the room for records as they came, before they are read.
	answers *Room
	turns   turns

	mu sync.Mutex
	// held is what the calls for each owner have, total what all have.
	held  map[string]int64
	total int64
	// freed is closed when something is given back.
	freed chan struct{}
}

// NewRoom returns an empty Room.
func NewRoom() *Room {
	room := newRoom(processRoom)
	room.answers = newRoom(answersRoom)
	return room
}

func newRoom(size int64) *Room {
	return &Room{size: size, held: map[string]int64{}, freed: make(chan struct{})}
}

// Claim is what one call has in memory: as much as the largest history that it has read. Nil is one without limit.
type Claim struct {
	room  *Room
	owner string
	// held and ended belong to the Room.
	held  int64
	ended bool
}

// Claim begins a call for an owner.
func (r *Room) Claim(owner string) *Claim { return &Claim{room: r, owner: owner} }

// End gives back what the call has. Whatever goes on for it may read no large records any more.
func (c *Claim) End() {
	if c == nil {
		return
	}
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	c.ended = true
	c.shrink(0)
}

// fits reports whether the call may have so many bytes of records in memory, without a wait.
func (c *Claim) fits(bytes int) bool {
	if c == nil || bytes <= smallRecords {
		return true
	}
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	return c.grow(bytes)
}

// wait is fits for a call that has time. The error is ErrBusy, or that of ctx.
func (c *Claim) wait(ctx context.Context, bytes int) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		c.room.mu.Lock()
		hasGrown, hasEnded, freed := c.grow(bytes), c.ended, c.room.freed
		c.room.mu.Unlock()
		switch {
		case hasGrown:
			return nil
		case hasEnded:
			return ErrBusy
		}
		select {
		case <-freed:
		case <-waiting.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return ErrBusy
		}
	}
}

// grow gives the call room for so many bytes, and reports whether it has that.
func (c *Claim) grow(bytes int) bool {
	more, own := steps(bytes)-c.held, c.room.held[c.owner]
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

// holds returns what the call has.
func (c *Claim) holds() int64 {
	if c == nil {
		return 0
	}
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	return c.held
}

// giveBack lets the call have no more than it had before.
func (c *Claim) giveBack(before int64) {
	if c == nil {
		return
	}
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	c.shrink(before)
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
func steps(bytes int) int64 {
	return (int64(bytes) + roomStep - 1) / roomStep * roomStep
}
