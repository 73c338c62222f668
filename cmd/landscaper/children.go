// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/flux-landscaper/flux-landscaper/confined"
)

// childFlags limit the child processes that render.
type childFlags struct {
	processes int
	memory    int64
}

// wholeMemory is what GOMEMLIMIT says, as much as there can be where it says nothing.
var wholeMemory = debug.SetMemoryLimit(-1)

// ownMemory is what this process has in any case, in bytes, however little its children leave.
const ownMemory = 256 * mebibyte

// keepRoom has the garbage collector of this process go by what children leave of the memory of the container.
func keepRoom(children confined.Limits) {
	if wholeMemory < math.MaxInt64 {
		debug.SetMemoryLimit(max(wholeMemory-children.Most(), ownMemory))
	}
}

// minChildMemory is less than what a child needs for anything useful.
const minChildMemory = 32 * mebibyte

func (c *childFlags) bindFlags(flags *pflag.FlagSet, memory int64) {
	flags.IntVar(&c.processes, "render-processes", confined.DefaultLimits().Children,
		"The number of child processes that render; a namespace has at most half of them.")
	flags.Int64Var(&c.memory, "render-process-memory", memory, "The memory that a child process may take to render, in bytes.")
}

// limits returns an error that names the flag that cannot be used.
func (c *childFlags) limits() (confined.Limits, error) {
	if c.processes < 1 {
		return confined.Limits{}, fmt.Errorf("--render-processes is %d; it has to be 1 at least", c.processes)
	}
	if c.memory < minChildMemory {
		return confined.Limits{}, fmt.Errorf("--render-process-memory is %d bytes; it has to be %d at least", c.memory, minChildMemory)
	}
	return confined.Limits{Children: c.processes, Memory: c.memory}, nil
}
