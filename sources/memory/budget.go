// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"container/list"
	"sync"
)

// DefaultLimit is how many bytes a Budget has when nothing else is asked for.
const DefaultLimit = 64 << 20

// overhead is what an entry costs beside key and value.
const overhead = 512

// Budget limits the bytes of all caches that share it. It is safe for concurrent use.
type Budget struct {
	limit int64

	mu     sync.Mutex
	total  ledger
	owners map[string]*owner
}

// New returns a Budget of so many bytes; 0 or less means DefaultLimit.
func New(limit int64) *Budget {
	limit = cmp.Or(max(limit, 0), DefaultLimit)
	return &Budget{limit: limit, owners: map[string]*owner{}}
}

// Weight returns the bytes that all caches hold.
func (b *Budget) Weight() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total.weight
}

// Piece is a part that several values may share, in the same cache or in others.
type Piece struct {
	// Of tells pieces apart, for example a pointer to the part.
	Of any
	// Bytes measures it. It is called when nobody holds the piece yet.
	Bytes func() int64
}

// owner is somebody whose content is kept.
type owner struct {
	ledger
	// recent are his entries, the most recently used first.
	recent *list.List
}

// entry is one value of one cache.
type entry struct {
	owner  string
	own    int64
	shared []Piece
	place  *list.Element
	// forget takes it out of its cache; dropped tells the cache afterwards, and may be nil.
	forget, dropped func()
}

// add takes an entry in and returns what has to be called once the lock is given back.
func (b *Budget) add(e *entry) (dropped []func()) {
	b.total.add(e, nil)
	b.attach(e)
	for b.total.weight > b.limit {
		dropped = b.remove(b.heaviest().recent.Back().Value.(*entry), dropped)
	}
	return dropped
}

// remove takes an entry out.
func (b *Budget) remove(e *entry, dropped []func()) []func() {
	b.detach(e)
	b.total.remove(e)
	e.forget()
	if e.dropped != nil {
		dropped = append(dropped, e.dropped)
	}
	return dropped
}

// use notes that somebody used an entry. It is charged to whoever of its users holds least, so that nobody makes what others use his own,
// to let it go with what he wrote himself.
func (b *Budget) use(e *entry, by string) {
	other := b.owners[by]
	if by != e.owner && (other == nil || other.weight < b.owners[e.owner].weight-e.own) {
		b.detach(e)
		e.owner = by
		b.attach(e)
		return
	}
	b.owners[e.owner].recent.MoveToFront(e.place)
}

func (b *Budget) attach(e *entry) {
	holder := b.owners[e.owner]
	if holder == nil {
		holder = &owner{recent: list.New()}
		b.owners[e.owner] = holder
	}
	holder.add(e, &b.total)
	e.place = holder.recent.PushFront(e)
}

func (b *Budget) detach(e *entry) {
	holder := b.owners[e.owner]
	holder.remove(e)
	holder.recent.Remove(e.place)
	if holder.recent.Len() == 0 {
		delete(b.owners, e.owner)
	}
}

// heaviest returns the owner who holds most.
func (b *Budget) heaviest() (most *owner) {
	for _, one := range b.owners {
		if most == nil || one.weight > most.weight {
			most = one
		}
	}
	return most
}

// ledger adds entries up. What several of them share counts once.
type ledger struct {
	weight int64
	pieces map[any]held
}

// held is a piece, and how many entries hold it.
type held struct {
	by    int
	bytes int64
}

// add counts an entry. The pieces that another ledger knows are not measured again.
func (l *ledger) add(e *entry, known *ledger) {
	l.weight += e.own
	if l.pieces == nil && len(e.shared) > 0 {
		l.pieces = map[any]held{}
	}
	for _, piece := range e.shared {
		now, ok := l.pieces[piece.Of]
		switch {
		case ok:
		case known != nil:
			now.bytes = known.pieces[piece.Of].bytes
		default:
			now.bytes = piece.Bytes()
		}
		if now.by++; now.by == 1 {
			l.weight += now.bytes
		}
		l.pieces[piece.Of] = now
	}
}

func (l *ledger) remove(e *entry) {
	l.weight -= e.own
	for _, piece := range e.shared {
		now := l.pieces[piece.Of]
		if now.by--; now.by > 0 {
			l.pieces[piece.Of] = now
			continue
		}
		l.weight -= now.bytes
		delete(l.pieces, piece.Of)
	}
}
