// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of CPU times in /proc, fixed by the kernel's ABI for programs.
const ticksPerSecond = 100

// CPUSeconds returns the CPU time, user and system, that a process has used so far; 0 where /proc does not tell.
func CPUSeconds(pid int) float64 {
	own, _ := cpuTimes(pid)
	return own
}

// FamilySeconds returns the CPU time of a process with its children, those that have ended included.
func FamilySeconds(pid int) float64 {
	own, ended := cpuTimes(pid)
	total := own + ended
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		content, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(content)) {
			if child, err := strconv.Atoi(field); err == nil {
				total += FamilySeconds(child)
			}
		}
	}
	return total
}

// cpuTimes returns the seconds that a process has used, and those of its children that have ended.
func cpuTimes(pid int) (own, ended float64) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	// The name in parentheses may contain anything; the fields behind it begin with the third.
	_, rest, _ := strings.Cut(string(content), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0, 0
	}
	var times [4]float64
	for i := range times {
		if times[i], err = strconv.ParseFloat(fields[11+i], 64); err != nil {
			return 0, 0
		}
	}
	return (times[0] + times[1]) / ticksPerSecond, (times[2] + times[3]) / ticksPerSecond
}
