// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

const (
	// processRoom is how many bytes of records the calls for all owners may have in memory together. Those for one owner may have half of what the others
	// leave of it, maxRecords where they have none.
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
	// unpacked is for records that are read, answers for them as they came, before that.
	unpacked, answers *memory.Room
	turns             *turns
}

// NewRoom returns an empty Room.
func NewRoom() *Room {
	return &Room{unpacked: memory.NewRoom(processRoom, roomStep), answers: memory.NewRoom(answersRoom, roomStep), turns: newTurns()}
}

// Claim is what one call has in memory: as much as the largest history that it has read. Nil is one without limit.
type Claim struct {
	room    *Room
	owner   string
	claimed *memory.Claim
}

// Claim begins a call for an owner.
func (r *Room) Claim(owner string) *Claim {
	return &Claim{room: r, owner: owner, claimed: r.unpacked.Claim(owner)}
}

// ofAnswers begins a claim on the room for answers of the same owner.
func (c *Claim) ofAnswers() *Claim {
	if c == nil {
		return nil
	}
	return &Claim{room: c.room, owner: c.owner, claimed: c.room.answers.Claim(c.owner)}
}

// End gives back what the call has. Whatever goes on for it may read no large records any more.
func (c *Claim) End() {
	if c != nil {
		c.claimed.End()
	}
}

// fits reports whether the call may have so many bytes of records in memory, without a wait.
func (c *Claim) fits(bytes int) bool {
	return c == nil || bytes <= smallRecords || c.claimed.Fits(int64(bytes))
}

// wait is fits for a call that has time. The error is ErrBusy, or that of ctx.
func (c *Claim) wait(ctx context.Context, bytes int) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch {
	case c.claimed.Wait(waiting, int64(bytes)):
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
	return c.claimed.Holds()
}

// giveBack lets the call have no more than it had before.
func (c *Claim) giveBack(before int64) {
	if c != nil {
		c.claimed.GiveBack(before)
	}
}
