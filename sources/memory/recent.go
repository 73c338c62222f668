// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import "container/list"

// Recent orders what lies elsewhere, as on a disk, by its last use, and sums up what that takes. It is not safe for concurrent use.
type Recent[V any] struct {
	order  list.List // of *Item, the most recently used first
	weight int64
}

// Item is a value with its place in the order.
type Item[V any] struct {
	Value  V
	weight int64
	at     *list.Element
}

// Add takes a value in, as the most recently used.
func (r *Recent[V]) Add(value V, weight int64) *Item[V] {
	added := &Item[V]{Value: value, weight: weight}
	added.at = r.order.PushFront(added)
	r.weight += weight
	return added
}

// Use notes that an item is used.
func (r *Recent[V]) Use(i *Item[V]) { r.order.MoveToFront(i.at) }

// Remove takes an item out.
func (r *Recent[V]) Remove(i *Item[V]) {
	r.order.Remove(i.at)
	r.weight -= i.weight
}

// Weight is that of all items.
func (r *Recent[V]) Weight() int64 { return r.weight }

// Oldest returns the least recently used item that may go; nil if nothing may.
func (r *Recent[V]) Oldest(mayGo func(V) bool) *Item[V] {
	for at := r.order.Back(); at != nil; at = at.Prev() {
		if found := at.Value.(*Item[V]); mayGo(found.Value) {
			return found
		}
	}
	return nil
}
