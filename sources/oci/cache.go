// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"container/list"
	"sync"

	"github.com/opencontainers/go-digest"
)

// cacheKey ties content to the repository it came from: a digest alone would let one tenant fetch, through a repository of
// its own, what another one pulled with credentials.
type cacheKey struct {
	home   string
	digest digest.Digest
}

type cached struct {
	key     cacheKey
	content []byte
}

// cache keeps verified content in memory, the most recently used up to a number of bytes.
type cache struct {
	limit int64

	mu     sync.Mutex
	used   int64
	byKey  map[cacheKey]*list.Element
	recent *list.List // of cached, the most recently used first
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, byKey: map[cacheKey]*list.Element{}, recent: list.New()}
}

func (c *cache) get(key cacheKey) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	c.recent.MoveToFront(found)
	return found.Value.(cached).content, true
}

// add keeps content unless it alone would push most of the others out.
func (c *cache) add(key cacheKey, content []byte) {
	size := int64(len(content))
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.byKey[key]; there || size > c.limit/2 {
		return
	}
	c.byKey[key] = c.recent.PushFront(cached{key, content})
	c.used += size
	for c.used > c.limit {
		oldest := c.recent.Back()
		dropped := c.recent.Remove(oldest).(cached)
		delete(c.byKey, dropped.key)
		c.used -= int64(len(dropped.content))
	}
}
