// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const kilo = 1 << 10

func bytes(n int64) func() int64 { return func() int64 { return n } }

func has(c *Cache[string, int], by, key string) bool {
	_, ok := c.Get(by, key)
	return ok
}

func TestABudgetBoundsAllItsCachesTogether(t *testing.T) {
	b := New(100 * kilo)
	one, two := Open[string, int](b, nil), Open[int, string](b, nil)
	for i := range 100 {
		one.Put("a", fmt.Sprint(i), i, 5*kilo)
		two.Put("a", i, "x", 5*kilo)
		require.LessOrEqual(t, b.Weight(), int64(100*kilo))
	}
	assert.True(t, has(one, "a", "99"))
	assert.False(t, has(one, "a", "0"))
}

func TestTheLeastRecentlyUsedGoesFirst(t *testing.T) {
	c := Open[string, int](New(31*kilo), nil)
	c.Put("a", "first", 1, 10*kilo)
	c.Put("a", "second", 2, 10*kilo)
	require.True(t, has(c, "a", "first"))
	c.Put("a", "third", 3, 10*kilo)
	assert.True(t, has(c, "a", "first"))
	assert.False(t, has(c, "a", "second"))
}

func TestNobodyPushesOutWhatOthersUse(t *testing.T) {
	c := Open[string, int](New(100*kilo), nil)
	for i := range 9 {
		c.Put(fmt.Sprint("tenant-", i), fmt.Sprint("own-", i), i, 8*kilo)
	}
	for i := range 1000 {
		c.Put("hostile", fmt.Sprint("x-", i), i, 5*kilo)
	}
	for i := range 9 {
		assert.True(t, has(c, fmt.Sprint("tenant-", i), fmt.Sprint("own-", i)), i)
	}
	assert.True(t, has(c, "hostile", "x-999"), "it keeps what is left")
}

func TestNobodyTakesWhatOthersUseAway(t *testing.T) {
	c := Open[string, int](New(100*kilo), nil)
	c.Put("hostile", "known to all", 1, 8*kilo)
	require.True(t, has(c, "tenant", "known to all"))
	for i := range 1000 {
		c.Put("hostile", fmt.Sprint("x-", i), i, 5*kilo)
		require.True(t, has(c, "hostile", "known to all"), i)
	}
	for i := range 1000 {
		c.Put("hostile", fmt.Sprint("y-", i), i, 5*kilo)
	}
	assert.True(t, has(c, "tenant", "known to all"))
}

func TestWhatIsTooLargeIsNotKept(t *testing.T) {
	var dropped []int
	b := New(10 * kilo)
	c := Open[string, int](b, func(value int) { dropped = append(dropped, value) })
	c.Put("tenant", "small", 1, kilo)
	c.Put("hostile", "huge", 2, 11*kilo)
	assert.True(t, has(c, "tenant", "small"))
	assert.False(t, has(c, "hostile", "huge"))
	assert.Equal(t, []int{2}, dropped)
	c.Put("hostile", strings.Repeat("k", 11*kilo), 3, 0)
	assert.Equal(t, []int{2, 3}, dropped, "keys count")
}

func TestWhatValuesShareCountsOnce(t *testing.T) {
	b := New(100 * kilo)
	one, two := Open[int, int](b, nil), Open[int, int](b, nil)
	measured := 0
	shared := Piece{Of: "blueprint", Bytes: func() int64 { measured++; return 50 * kilo }}
	for i := range 20 {
		one.Put(fmt.Sprint(i), i, i, 0, shared)
		two.Put(fmt.Sprint(i), i, i, 0, shared)
	}
	assert.Equal(t, 1, measured)
	assert.Less(t, b.Weight(), int64(80*kilo))
	assert.Greater(t, b.Weight(), int64(50*kilo))
	for i := range 20 {
		one.Remove(i)
	}
	assert.Greater(t, b.Weight(), int64(50*kilo), "others hold it")
	for i := range 20 {
		two.Remove(i)
	}
	assert.Zero(t, b.Weight())
	assert.Empty(t, b.owners)
}

func TestEachValueThatLeavesIsToldOnce(t *testing.T) {
	left := map[int]int{}
	b := New(20 * kilo)
	c := Open[string, int](b, func(value int) {
		left[value]++
		b.Weight() // the lock is free
	})
	c.Put("a", "replaced", 1, kilo)
	c.Put("a", "replaced", 2, kilo)
	c.Remove("replaced")
	c.Remove("replaced")
	c.Put("a", "pushed out", 3, 12*kilo)
	c.Put("a", "last", 4, 12*kilo)
	assert.Equal(t, map[int]int{1: 1, 2: 1, 3: 1}, left)
}

// TestTheSumsStayRight does at random what caches can do.
func TestTheSumsStayRight(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := New(200 * kilo)
	c := Open[int, int](b, nil)
	for range 20000 {
		who, key := fmt.Sprint(random.IntN(5)), random.IntN(60)
		switch random.IntN(3) {
		case 0:
			c.Put(who, key, key, random.Int64N(20*kilo), Piece{Of: key % 7, Bytes: bytes(int64(key%7) * kilo)})
		case 1:
			c.Get(who, key)
		default:
			c.Remove(key)
		}
		require.LessOrEqual(t, b.Weight(), int64(200*kilo))
	}
	sum := int64(0)
	for key := range 60 {
		c.Remove(key)
		sum += int64(len(c.byKey))
	}
	assert.Zero(t, b.Weight())
	assert.Empty(t, b.owners)
	assert.Empty(t, b.total.pieces)
	assert.Positive(t, sum)
}

func TestSizeIsAboutWhatTheRuntimeNeeds(t *testing.T) {
	type document struct {
		Name  string
		Lines []string
		Any   map[string]any
		Next  *document
	}
	const count = 64
	for name, make := range map[string]func() any{
		"text":  func() any { return strings.Repeat("x", 1<<16) },
		"bytes": func() any { return append([]byte(nil), strings.Repeat("x", 1<<16)...) },
		"pointers": func() any {
			return &document{Next: &document{Lines: strings.Split(strings.Repeat("abcdefg,", 1<<12), ",")}}
		},
		"map":       func() any { return mapOf(1 << 12) },
		"documents": func() any { return &document{Any: map[string]any{"deep": []any{mapOf(1 << 10), mapOf(1 << 10)}}} },
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			all := []any{}
			for range count {
				all = append(all, make())
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			size := float64(Size(all[0]))
			real := float64(after.HeapAlloc-before.HeapAlloc) / count
			t.Logf("%.0f of %.0f bytes", size, real)
			assert.InDelta(t, 1, size/real, 0.6)
			runtime.KeepAlive(all)
		})
	}
}

func mapOf(n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprint("key-", i)] = map[string]any{"value": fmt.Sprint("value-", i)}
	}
	return out
}

func TestSizeEndsInCirclesAndCountsNothingTwice(t *testing.T) {
	type node struct {
		next *node
		data []byte
	}
	shared := make([]byte, kilo)
	first := &node{data: shared}
	first.next = &node{next: first, data: shared}
	assert.Less(t, Size(first), int64(2*kilo))
	assert.Zero(t, Size(nil))
}
