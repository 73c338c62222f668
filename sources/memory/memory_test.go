// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const kilo = 1 << 10

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
