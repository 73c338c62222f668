// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASmallHeapGathersAsMuchAsALargerOne(t *testing.T) {
	for live, want := range map[int64]int{
		0: 2400, 12 * mebibyte: 200, 24 * mebibyte: 100, 48 * mebibyte: 50, 1024 * mebibyte: gcPercent,
	} {
		assert.Equal(t, want, percentFor(live), "%d MiB", live/mebibyte)
	}
}

func TestTheHeapDecidesHowMuchGathers(t *testing.T) {
	before := debug.SetGCPercent(gcPercent)
	defer debug.SetGCPercent(before)

	gatherGarbage()

	require.Eventually(t, func() bool {
		runtime.GC()
		found := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(found)
		return found[0].Value.Uint64() > gcPercent
	}, 10*time.Second, time.Millisecond)
}
