// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheLeastRecentlyUsedGoesFirst(t *testing.T) {
	c := NewCache[string, int](31*kilo, nil)
	c.Put("first", 1, 10*kilo)
	c.Put("second", 2, 10*kilo)
	_, ok := c.Get("first")
	require.True(t, ok)
	c.Put("third", 3, 10*kilo)
	_, ok = c.Get("first")
	assert.True(t, ok)
	_, ok = c.Get("second")
	assert.False(t, ok)
	assert.Equal(t, 2, c.Len())
}

func TestWhatIsTooLargeIsNotKept(t *testing.T) {
	var dropped []int
	c := NewCache[string, int](10*kilo, func(value int) { dropped = append(dropped, value) })
	c.Put("small", 1, kilo)
	c.Put("huge", 2, 11*kilo)
	_, ok := c.Get("small")
	assert.True(t, ok)
	assert.Equal(t, []int{2}, dropped)
	c.Put(strings.Repeat("k", 11*kilo), 3, 0)
	assert.Equal(t, []int{2, 3}, dropped, "keys count")
}

func TestEachValueThatLeavesIsToldOnce(t *testing.T) {
	left := map[int]int{}
	var c *Cache[string, int]
	c = NewCache[string, int](20*kilo, func(value int) {
		left[value]++
		c.Weight() // the lock is free
	})
	c.Put("replaced", 1, kilo)
	c.Put("replaced", 2, kilo)
	c.Remove("replaced")
	c.Remove("replaced")
	c.Put("pushed out", 3, 12*kilo)
	c.Put("last", 4, 12*kilo)
	assert.Equal(t, map[int]int{1: 1, 2: 1, 3: 1}, left)
}

func TestTheSumStaysRight(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := NewCache[int, int](200*kilo, nil)
	for range 20000 {
		key := random.IntN(60)
		switch random.IntN(3) {
		case 0:
			c.Put(key, key, random.Int64N(20*kilo))
		case 1:
			c.Get(key)
		default:
			c.Remove(key)
		}
		require.LessOrEqual(t, c.Weight(), int64(200*kilo))
	}
	assert.Positive(t, c.Len())
	for key := range 60 {
		c.Remove(key)
	}
	assert.Zero(t, c.Weight())
}
