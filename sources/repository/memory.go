// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"container/list"
	"sync"
)

// memory keeps values up to a weight, the most recently used ones.
type memory[K comparable, V any] struct {
	limit int64

	mu     sync.Mutex
	weight int64
	byKey  map[K]*list.Element
	recent *list.List // of remembered, the most recently used first
}

type remembered[K comparable, V any] struct {
	key    K
	value  V
	weight int64
}

func newMemory[K comparable, V any](limit int64) *memory[K, V] {
	return &memory[K, V]{limit: limit, byKey: map[K]*list.Element{}, recent: list.New()}
}

func (m *memory[K, V]) get(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.byKey[key]
	if !ok {
		return value, false
	}
	m.recent.MoveToFront(found)
	return found.Value.(remembered[K, V]).value, true
}

// put keeps value, in place of an older one.
func (m *memory[K, V]) put(key K, value V, weight int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, ok := m.byKey[key]; ok {
		m.drop(found)
	}
	m.byKey[key] = m.recent.PushFront(remembered[K, V]{key, value, weight})
	m.weight += weight
	for m.weight > m.limit && m.recent.Len() > 0 {
		m.drop(m.recent.Back())
	}
}

func (m *memory[K, V]) drop(e *list.Element) {
	dropped := m.recent.Remove(e).(remembered[K, V])
	delete(m.byKey, dropped.key)
	m.weight -= dropped.weight
}
