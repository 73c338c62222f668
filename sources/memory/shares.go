// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import "container/list"

// Shares are values that several owners use, each in the order of use. Where something has to go, it is of the owner who has most. The owner "" is nobody
// in particular, as after a restart. They are not safe for concurrent use.
type Shares[V any] struct {
	owners map[string]*share[V]
	weight int64
}

// Weight is that of all values.
func (s *Shares[V]) Weight() int64 { return s.weight }

// share is what one owner has.
type share[V any] struct {
	// recent are of *Item, the most recently used first.
	recent *list.List
	weight int64
}

// Item is a value with its place among the shares.
type Item[V any] struct {
	Value V

	owner  string
	weight int64
	at     *list.Element
}

// NewShares returns Shares of nobody.
func NewShares[V any]() *Shares[V] { return &Shares[V]{owners: map[string]*share[V]{}} }

// Add takes a value in, as the most recently used of an owner.
func (s *Shares[V]) Add(owner string, value V, weight int64) *Item[V] {
	added := &Item[V]{Value: value, weight: weight}
	s.give(added, owner)
	s.weight += weight
	return added
}

// Remove takes an item out.
func (s *Shares[V]) Remove(i *Item[V]) {
	s.take(i)
	s.weight -= i.weight
}

// Use notes that somebody uses an item. It is charged to whoever of its users has least, so that nobody makes what others use his own, to let it go with
// what he brought himself.
func (s *Shares[V]) Use(i *Item[V], by string) {
	others := int64(0)
	if own := s.owners[by]; own != nil {
		others = own.weight
	}
	owner := i.owner
	if by != "" && by != owner && (owner == "" || others < s.owners[owner].weight-i.weight) {
		owner = by
	}
	s.take(i)
	s.give(i, owner)
}

// Owner is who the item is charged to.
func (i *Item[V]) Owner() string { return i.owner }

func (s *Shares[V]) give(i *Item[V], owner string) {
	own := s.owners[owner]
	if own == nil {
		own = &share[V]{recent: list.New()}
		s.owners[owner] = own
	}
	own.weight += i.weight
	i.owner, i.at = owner, own.recent.PushFront(i)
}

func (s *Shares[V]) take(i *Item[V]) {
	own := s.owners[i.owner]
	own.weight -= i.weight
	own.recent.Remove(i.at)
	if own.recent.Len() == 0 {
		delete(s.owners, i.owner)
	}
}

// Next returns the least recently used item that may go, of the owner who has most among those who have such; nil if nothing may go.
func (s *Shares[V]) Next(mayGo func(V) bool) (found *Item[V]) {
	most := int64(0)
	for _, own := range s.owners {
		if found != nil && own.weight <= most {
			continue
		}
		if last := own.last(mayGo); last != nil {
			found, most = last, own.weight
		}
	}
	return found
}

// last returns the least recently used item that may go.
func (s *share[V]) last(mayGo func(V) bool) *Item[V] {
	for at := s.recent.Back(); at != nil; at = at.Prev() {
		if found := at.Value.(*Item[V]); mayGo(found.Value) {
			return found
		}
	}
	return nil
}
