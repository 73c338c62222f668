// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"container/list"
	"sync"
)

// Bounded is a cache that forgets the least recently used entries when there are too many, or when they are too large together.
type Bounded[K comparable, V any] struct {
	maxEntries, maxSize int
	size                func(V) int

	mu      sync.Mutex
	entries map[K]*list.Element
	recent  *list.List
	total   int
}

type boundedEntry[K comparable, V any] struct {
	key   K
	value V
}

// NewBounded returns a cache of so many entries, whose sizes together are at most maxSize.
func NewBounded[K comparable, V any](maxEntries, maxSize int, size func(V) int) *Bounded[K, V] {
	return &Bounded[K, V]{
		maxEntries: maxEntries, maxSize: maxSize, size: size,
		entries: map[K]*list.Element{}, recent: list.New(),
	}
}

// Get returns the value of a key, and whether there is one.
func (b *Bounded[K, V]) Get(key K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	element, ok := b.entries[key]
	if !ok {
		var none V
		return none, false
	}
	b.recent.MoveToFront(element)
	return element.Value.(*boundedEntry[K, V]).value, true
}

// GetOrAdd returns the value of a key, made by create when there is none yet.
func (b *Bounded[K, V]) GetOrAdd(key K, create func() V) V {
	b.mu.Lock()
	defer b.mu.Unlock()
	if element, ok := b.entries[key]; ok {
		b.recent.MoveToFront(element)
		return element.Value.(*boundedEntry[K, V]).value
	}
	value := create()
	b.insert(key, value)
	return value
}

// Add keeps a value, in place of those that were used longest ago where there is no room.
func (b *Bounded[K, V]) Add(key K, value V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.entries[key]; !ok {
		b.insert(key, value)
	}
}

func (b *Bounded[K, V]) insert(key K, value V) {
	b.entries[key] = b.recent.PushFront(&boundedEntry[K, V]{key: key, value: value})
	b.total += b.size(value)
	for b.recent.Len() > b.maxEntries || (b.total > b.maxSize && b.recent.Len() > 1) {
		oldest := b.recent.Remove(b.recent.Back()).(*boundedEntry[K, V])
		delete(b.entries, oldest.key)
		b.total -= b.size(oldest.value)
	}
}
