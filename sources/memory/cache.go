// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// DefaultSize is the size of a cache in bytes that is not given another one.
const DefaultSize = 16 << 20

// overhead is what an entry takes beside its key and value, in bytes.
const overhead = 512

// Cache keeps values by key up to a size in bytes; the least recently used go first. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	size    int64
	dropped func(V)

	mu      sync.Mutex
	weight  int64
	entries *simplelru.LRU[K, weighed[V]]
	gone    []V
}

type weighed[V any] struct {
	value V
	bytes int64
}

// NewCache makes a Cache of a size in bytes; zero and less take DefaultSize. Dropped learns of each value that leaves, once, while the cache is not
// locked; nil is nobody.
func NewCache[K comparable, V any](size int64, dropped func(V)) *Cache[K, V] {
	c := &Cache[K, V]{size: cmp.Or(max(size, 0), DefaultSize), dropped: dropped}
	c.entries, _ = simplelru.NewLRU(math.MaxInt, func(_ K, left weighed[V]) { // fails on a size below one only
		c.weight -= left.bytes
		if c.dropped != nil {
			c.gone = append(c.gone, left.value)
		}
	})
	return c
}

// Get returns a value and counts as use of it.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries.Get(key)
	return found.value, ok
}

// Put keeps a value that takes so many bytes beside its key. One that is larger than the cache leaves at once.
func (c *Cache[K, V]) Put(key K, value V, bytes int64) {
	c.change(func() {
		c.entries.Remove(key)
		entry := weighed[V]{value, bytes + Size(key) + overhead}
		c.weight += entry.bytes
		c.entries.Add(key, entry)
		if entry.bytes > c.size {
			c.entries.Remove(key)
		}
		for c.weight > c.size {
			c.entries.RemoveOldest()
		}
	})
}

// Remove takes a value out.
func (c *Cache[K, V]) Remove(key K) { c.change(func() { c.entries.Remove(key) }) }

// Len returns how many values there are.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len()
}

// Weight returns how many bytes they take.
func (c *Cache[K, V]) Weight() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.weight
}

func (c *Cache[K, V]) change(change func()) {
	c.mu.Lock()
	change()
	gone := c.gone
	c.gone = nil
	c.mu.Unlock()
	for _, value := range gone {
		c.dropped(value)
	}
}
