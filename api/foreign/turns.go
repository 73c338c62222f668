// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"context"
	"slices"
	"sync"
)

// largeDocument is from how many bytes on documents are read one after the other.
const largeDocument = 256 << 10

// large is held while a large document is read, so that many at the same time do not need a multiple of the memory.
var large = newTurns()

type ownerKey struct{}

// OwnedBy returns a context for reading the documents of an owner, such as a namespace, with the functions that have a context. Those who wait with large
// documents take turns by owner, so that many of one are in nobody's way. All that is read without an owner is that of one more.
func OwnedBy(ctx context.Context, owner string) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// enter waits for its turn with a large document; leave ends it. The error is that of ctx.
func enter(ctx context.Context, text []byte) (leave func(), err error) {
	if len(text) < largeDocument {
		return func() {}, nil
	}
	owner, _ := ctx.Value(ownerKey{}).(string)
	if err := large.take(ctx, owner); err != nil {
		return nil, err
	}
	return sync.OnceFunc(large.end), nil
}

// turns let one document at a time be read. Of those that wait, the owners have theirs read one after the other, one document each.
type turns struct {
	mu      sync.Mutex
	isTaken bool
	// owners wait, the next one first, with those documents. A channel is closed when its document has its turn.
	owners    []string
	documents map[string][]chan struct{}
}

func newTurns() *turns { return &turns{documents: map[string][]chan struct{}{}} }

// take waits for a turn, unless ctx ends before.
func (t *turns) take(ctx context.Context, owner string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	begin := t.wait(owner)
	if begin == nil {
		return nil
	}
	select {
	case <-begin:
		return nil
	case <-ctx.Done():
		if !t.drop(owner, begin) {
			t.end() // the turn has just begun
		}
		return context.Cause(ctx)
	}
}

// wait returns what is closed when the turn begins, nil if it has begun.
func (t *turns) wait(owner string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isTaken {
		t.isTaken = true
		return nil
	}
	begin := make(chan struct{})
	if len(t.documents[owner]) == 0 {
		t.owners = append(t.owners, owner)
	}
	t.documents[owner] = append(t.documents[owner], begin)
	return begin
}

// drop lets a document wait no more, and reports whether it did.
func (t *turns) drop(owner string, begin chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.documents[owner], begin)
	if at < 0 {
		return false
	}
	t.documents[owner] = slices.Delete(t.documents[owner], at, at+1)
	if len(t.documents[owner]) == 0 {
		delete(t.documents, owner)
		t.owners = slices.DeleteFunc(t.owners, func(other string) bool { return other == owner })
	}
	return true
}

// end gives the turn to the next owner.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.owners) == 0 {
		t.isTaken = false
		return
	}
	owner := t.owners[0]
	t.owners = t.owners[1:]
	next, rest := t.documents[owner][0], t.documents[owner][1:]
	delete(t.documents, owner)
	if len(rest) > 0 {
		t.documents[owner] = rest
		t.owners = append(t.owners, owner)
	}
	close(next)
}
