// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/confined"
)

func TestTheProcessLeavesItsChildrenTheirMemory(t *testing.T) {
	two := confined.Limits{Children: 2, Memory: 100 * mebibyte}
	for name, tc := range map[string]struct{ whole, want int64 }{
		"a container with room": {2048 * mebibyte, 2048*mebibyte - two.Most()},
		"a small container":     {512 * mebibyte, ownMemory},
		"nobody knows":          {math.MaxInt64, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			before, limit := wholeMemory, debug.SetMemoryLimit(tc.whole)
			defer func() { wholeMemory = before; debug.SetMemoryLimit(limit) }()
			wholeMemory = tc.whole
			for range 2 { // as an agent does, which connects again
				keepRoom(two)
			}
			assert.Equal(t, tc.want, debug.SetMemoryLimit(-1))
		})
	}
}
