// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "container/list"

// shares are what several owners use, each in the order of use. Where something has to go, it is of the owner who has most. The owner "" is nobody in
// particular, as after a restart.
type shares[V any] struct {
	owners map[string]*share[V]
	weight int64
}

// share is what one owner has.
type share[V any] struct {
	// recent are of *item, the most recently used first.
	recent *list.List
	weight int64
}

// item is a value with its place among the shares.
type item[V any] struct {
	value  V
	owner  string
	weight int64
	at     *list.Element
}

func newShares[V any]() *shares[V] { return &shares[V]{owners: map[string]*share[V]{}} }

// add takes a value in, as the most recently used of an owner.
func (s *shares[V]) add(owner string, value V, weight int64) *item[V] {
	added := &item[V]{value: value, weight: weight}
	s.give(added, owner)
	s.weight += weight
	return added
}

// remove takes an item out.
func (s *shares[V]) remove(i *item[V]) {
	s.take(i)
	s.weight -= i.weight
}

// use notes that somebody uses an item. It is charged to whoever of its users has least, so that nobody makes what others use his own, to let it go with
// what he brought himself.
func (s *shares[V]) use(i *item[V], by string) {
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

func (s *shares[V]) give(i *item[V], owner string) {
	own := s.owners[owner]
	if own == nil {
		own = &share[V]{recent: list.New()}
		s.owners[owner] = own
	}
	own.weight += i.weight
	i.owner, i.at = owner, own.recent.PushFront(i)
}

func (s *shares[V]) take(i *item[V]) {
	own := s.owners[i.owner]
	own.weight -= i.weight
	own.recent.Remove(i.at)
	if own.recent.Len() == 0 {
		delete(s.owners, i.owner)
	}
}

// next returns the least recently used item that may go, of the owner who has most among those who have such; nil if nothing may go.
func (s *shares[V]) next(mayGo func(V) bool) (found *item[V]) {
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
func (s *share[V]) last(mayGo func(V) bool) *item[V] {
	for at := s.recent.Back(); at != nil; at = at.Prev() {
		if found := at.Value.(*item[V]); mayGo(found.value) {
			return found
		}
	}
	return nil
}
