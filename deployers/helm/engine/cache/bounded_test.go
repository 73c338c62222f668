// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBoundedForgetsTheOldest(t *testing.T) {
	b := NewBounded[string](3, 10, func(size int) int { return size })
	b.Add("a", 4)
	b.Add("b", 4)
	b.Get("a")
	b.Add("c", 4)
	_, hasA := b.Get("a")
	_, hasB := b.Get("b")
	assert.True(t, hasA)
	assert.False(t, hasB)
	b.Add("huge", 100)
	_, hasHuge := b.Get("huge")
	assert.True(t, hasHuge, "the newest entry is kept whatever its size")
}
