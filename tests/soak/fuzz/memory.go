// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// guard watches the memory of all processes of a group.
type guard struct {
	group int
	limit int64
	done  chan struct{}
	// result is the peak of one process, and whether the group was ended for it.
	result chan reading
}

type reading struct {
	peak    int64
	crossed bool
}

// watch starts to look at the memory of a process group. A process above the limit ends the group.
func watch(group int, limit int64) *guard {
	g := &guard{group: group, limit: limit, done: make(chan struct{}), result: make(chan reading, 1)}
	go g.loop()
	return g
}

func (g *guard) loop() {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	var r reading
	for {
		select {
		case <-g.done:
			g.result <- r
			return
		case <-ticker.C:
			r.peak = max(r.peak, largest(g.group))
			if r.peak > g.limit && !r.crossed {
				r.crossed = true
				_ = syscall.Kill(-g.group, syscall.SIGKILL) // it may have ended by itself
			}
		}
	}
}

// end stops watching. The error is the one the program ended with, or that it took too much memory.
func (g *guard) end(err error) (int64, error) {
	close(g.done)
	r := <-g.result
	if r.crossed {
		return r.peak, fmt.Errorf("a process held %d MiB, more than %d MiB", r.peak>>20, g.limit>>20)
	}
	return r.peak, err
}

// largest returns the resident bytes of the largest process of a group, from Linux' /proc; elsewhere it is 0.
func largest(group int) int64 {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	var most int64
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if got, err := syscall.Getpgid(pid); err == nil && got == group {
			most = max(most, resident(entry.Name()))
		}
	}
	return most
}

// resident reads the second number of statm, which counts pages.
func resident(pid string) int64 {
	raw, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
