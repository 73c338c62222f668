// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"strings"
)

// resetPeak makes the kernel forget the largest resident set of a process, so that the next phase has a peak of its own.
func resetPeak(pid int) { _ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) }

// host describes the machine.
type host struct {
	CPUs       int      `json:"cpus"`
	CPU        string   `json:"cpu"`
	MemoryMiB  int      `json:"memoryMiB"`
	LoadBefore string   `json:"loadBefore"`
	LoadAfter  string   `json:"loadAfter"`
	Fsync      *latency `json:"fsyncMilliseconds,omitempty"` // of blocks of 4 KiB, in the folder of the platform
}

func load() string {
	content, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(content))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

// procField returns the value of the first line of a file below /proc that begins with the key.
func procField(file, key string) string {
	content, _ := os.ReadFile(file)
	for line := range strings.Lines(string(content)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memoryMiB() int {
	var kib int
	_, _ = fmt.Sscan(procField("/proc/meminfo", "MemTotal"), &kib)
	return kib >> 10
}
