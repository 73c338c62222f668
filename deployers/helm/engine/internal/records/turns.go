// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import "sync"

// unpacking is held while a large record is unpacked, because it is much larger than what a cluster sent.
var unpacking sync.Mutex

// turns let the calls for one owner unpack one after the other, so that no more than one of them waits for others. The zero value is ready.
type turns struct {
	mu     sync.Mutex
	owners map[string]*turn
}

// turn is that of one owner.
type turn struct {
	sync.Mutex
	// users counts the calls that have it or wait for it.
	users int
}

// takeTurn waits until a call may unpack a large record, and returns the function that ends its turn.
func (c *Claim) takeTurn() (end func()) {
	if c == nil {
		unpacking.Lock()
		return unpacking.Unlock
	}
	own := c.room.turns.of(c.owner)
	own.Lock()
	unpacking.Lock()
	return func() {
		unpacking.Unlock()
		own.Unlock()
		c.room.turns.leave(c.owner)
	}
}

func (t *turns) of(owner string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owners == nil {
		t.owners = map[string]*turn{}
	}
	if t.owners[owner] == nil {
		t.owners[owner] = &turn{}
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
