// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

// Cache keeps values by key as long as its Budget has room for them. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	budget  *Budget
	dropped func(V)
	byKey   map[K]kept[V]
}

type kept[V any] struct {
	value V
	entry *entry
}

// Open returns a new cache that shares a Budget; nil means a Budget of its own. Each value that leaves it, replaced, removed or pushed out, is
// passed to dropped, which may be nil.
func Open[K comparable, V any](budget *Budget, dropped func(V)) *Cache[K, V] {
	if budget == nil {
		budget = New(0)
	}
	return &Cache[K, V]{budget: budget, dropped: dropped, byKey: map[K]kept[V]{}}
}

// Get returns the value of a key for somebody who uses it.
func (c *Cache[K, V]) Get(by string, key K) (value V, ok bool) {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	found, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	c.budget.use(found.entry, by)
	return found.value, true
}

// Put keeps a value for its owner, in place of an older one, with the bytes that it has alone, without its key, and the pieces that it shares
// with others.
func (c *Cache[K, V]) Put(owner string, key K, value V, own int64, shared ...Piece) {
	e := &entry{owner: owner, own: own + Size(key) + overhead, shared: shared, forget: func() { delete(c.byKey, key) }}
	if c.dropped != nil {
		e.dropped = func() { c.dropped(value) }
	}
	var dropped []func()
	c.budget.mu.Lock()
	if older, ok := c.byKey[key]; ok {
		dropped = c.budget.remove(older.entry, dropped)
	}
	c.byKey[key] = kept[V]{value, e}
	dropped = append(dropped, c.budget.add(e)...)
	c.budget.mu.Unlock()
	call(dropped)
}

// Len returns how many values the cache has.
func (c *Cache[K, V]) Len() int {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	return len(c.byKey)
}

// Remove lets a value go.
func (c *Cache[K, V]) Remove(key K) {
	var dropped []func()
	c.budget.mu.Lock()
	if found, ok := c.byKey[key]; ok {
		dropped = c.budget.remove(found.entry, nil)
	}
	c.budget.mu.Unlock()
	call(dropped)
}

func call(all []func()) {
	for _, one := range all {
		one()
	}
}
