// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory has the caches of a process, each with a size in bytes, and measures what values take.
package memory

import (
	"cmp"
	"math"
	"reflect"
	"sync"
	"unsafe"

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

// What a map needs beside keys and values: itself, and one byte for each of its slots, of which it has at least a group and leaves some empty.
const (
	mapHeader = 48
	mapGroup  = 8
)

// Size returns about how many bytes a value takes with everything that it refers to, each part once. It is meant for data: what functions
// and channels hold does not count.
func Size(value any) int64 {
	if value == nil {
		return 0
	}
	m := measuring{seen: map[unsafe.Pointer]struct{}{}}
	v := reflect.ValueOf(value)
	return int64(v.Type().Size()) + m.behind(v) // #nosec G115 -- sizes of types are small
}

type measuring struct{ seen map[unsafe.Pointer]struct{} }

// first reports whether a part was not counted yet.
func (m *measuring) first(at unsafe.Pointer) bool {
	_, known := m.seen[at]
	m.seen[at] = struct{}{}
	return !known
}

// behind returns the bytes that a value refers to.
func (m *measuring) behind(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Interface, reflect.Pointer:
		return m.pointer(v)
	case reflect.Slice:
		if v.IsNil() || !m.first(v.UnsafePointer()) {
			return 0
		}
		return int64(v.Cap())*int64(v.Type().Elem().Size()) + m.elements(v) // #nosec G115 -- sizes of types are small
	case reflect.Array:
		return m.elements(v)
	case reflect.Map:
		return m.entries(v)
	case reflect.Struct:
		total := int64(0)
		for i := range v.NumField() {
			total += m.behind(v.Field(i))
		}
		return total
	}
	return 0
}

func (m *measuring) pointer(v reflect.Value) int64 {
	if v.IsNil() || v.Kind() == reflect.Pointer && !m.first(v.UnsafePointer()) {
		return 0
	}
	return int64(v.Elem().Type().Size()) + m.behind(v.Elem()) // #nosec G115 -- sizes of types are small
}

func (m *measuring) elements(v reflect.Value) (total int64) {
	if flat(v.Type().Elem().Kind()) {
		return 0
	}
	for i := range v.Len() {
		total += m.behind(v.Index(i))
	}
	return total
}

func (m *measuring) entries(v reflect.Value) int64 {
	if v.IsNil() || !m.first(v.UnsafePointer()) {
		return 0
	}
	slots := int64(mapGroup)
	for slots*7/8 < int64(v.Len()) {
		slots *= 2
	}
	total := mapHeader + slots*(1+int64(v.Type().Key().Size())+int64(v.Type().Elem().Size())) // #nosec G115 -- sizes of types are small
	for each := v.MapRange(); each.Next(); {
		total += m.behind(each.Key()) + m.behind(each.Value())
	}
	return total
}

// flat reports whether values of a kind refer to nothing.
func flat(kind reflect.Kind) bool { return kind >= reflect.Bool && kind <= reflect.Complex128 }
