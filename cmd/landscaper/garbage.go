// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"

	"github.com/flux-landscaper/flux-landscaper/confined"
)

const (
	// gcPercent lets the heap grow by half between collections instead of doubling: that saves memory where heaps are large.
	gcPercent = 50
	// leastGarbage is how many bytes gather in a busy process before they are collected. Half of a small heap is gathered again at once: collections took
	// a fifth of the processor time of the controller.
	leastGarbage = 24 * mebibyte
)

// collectsByItself reports whether this program decides when garbage is collected. GOGC in the environment wins.
func collectsByItself() bool { return os.Getenv("GOGC") == "" }

// gatherGarbage lets at least leastGarbage gather between collections from now on.
func gatherGarbage() {
	if !collectsByItself() {
		return
	}
	percent := gcPercent
	confined.AfterEachCollection(func() {
		if next := percentFor(liveHeap()); next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
	})
}

// percentFor returns by how many percent a heap with so many live bytes may grow.
func percentFor(live int64) int {
	return int(max(gcPercent, leastGarbage*100/max(live, mebibyte)))
}

func liveHeap() int64 {
	found := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(found)
	return int64(found[0].Value.Uint64()) // #nosec G115 -- no heap has 2^63 bytes
}
