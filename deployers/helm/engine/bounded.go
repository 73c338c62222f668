// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"container/list"
	"sync"
)

// bounded is a cache that forgets the least recently used entries when there are too many, or when they are too large together.
type bounded[K comparable, V any] struct {
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

func newBounded[K comparable, V any](maxEntries, maxSize int, size func(V) int) *bounded[K, V] {
	return &bounded[K, V]{
		maxEntries: maxEntries, maxSize: maxSize, size: size,
		entries: map[K]*list.Element{}, recent: list.New(),
	}
}

func (b *bounded[K, V]) get(key K) (V, bool) {
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

// getOrAdd returns the value of the key, made by create when there is none yet.
func (b *bounded[K, V]) getOrAdd(key K, create func() V) V {
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

func (b *bounded[K, V]) add(key K, value V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.entries[key]; !ok {
		b.insert(key, value)
	}
}

func (b *bounded[K, V]) insert(key K, value V) {
	b.entries[key] = b.recent.PushFront(&boundedEntry[K, V]{key: key, value: value})
	b.total += b.size(value)
	for b.recent.Len() > b.maxEntries || (b.total > b.maxSize && b.recent.Len() > 1) {
		oldest := b.recent.Remove(b.recent.Back()).(*boundedEntry[K, V])
		delete(b.entries, oldest.key)
		b.total -= b.size(oldest.value)
	}
}
