// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Statuses that a child ends with.
const (
	// exitUnusable: it could not confine itself.
	exitUnusable = 70
	// exitMemory: the job used too much memory.
	exitMemory = 71
)

// maxStack is how much stack one goroutine of a child may use. What calls itself without end is over at once.
const maxStack = 64 << 20

// gcPercent lets garbage grow to twice what is in use before it is collected: most jobs are small, and with Go's default of 100 collections took about a
// tenth of their processor time.
const gcPercent = 200

// confine limits this process before it reads anything. Where the system can limit its memory a single large allocation ends it; what
// grows slowly is noticed after each garbage collection, everywhere.
func confine(memory int64) error {
	runtime.GOMAXPROCS(1)
	debug.SetMaxStack(maxStack)
	debug.SetTraceback("none")
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(taken() + memory/2)
	if err := limitSystem(memory); err != nil {
		return err
	}
	AfterEachCollection(func() {
		if inUse() > memory {
			os.Exit(exitMemory)
		}
	})
	return nil
}

// sentinel is collected in each garbage collection.
type sentinel struct{ _ [16]byte }

// AfterEachCollection calls do after each garbage collection of this process, from its next one on.
func AfterEachCollection(do func()) {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		do()
		AfterEachCollection(do)
	})
}

// taken is the memory that this process has from the system.
func taken() int64 {
	total, released := measure("/memory/classes/total:bytes", "/memory/classes/heap/released:bytes")
	return total - released
}

// inUse is the memory of stacks, and of the objects that the last garbage collection found in use.
func inUse() int64 {
	live, stacks := measure("/gc/heap/live:bytes", "/memory/classes/heap/stacks:bytes")
	return live + stacks
}

// measure reads two metrics of the runtime at one time.
func measure(one, other string) (int64, int64) {
	samples := []metrics.Sample{{Name: one}, {Name: other}}
	metrics.Read(samples)
	return bytesOf(samples[0]), bytesOf(samples[1])
}

func bytesOf(sample metrics.Sample) int64 { return int64(min(sample.Value.Uint64(), math.MaxInt64)) }
