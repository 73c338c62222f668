// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// executable is the own binary, also when its file has been replaced.
func executable() (string, error) { return "/proc/self/exe", nil }

// maxDescriptors is enough for the pipes, the runtime and a file with time zones.
const maxDescriptors = 16

// limitSystem has the kernel end a process that takes too much, and end this one first when the container is out of memory.
func limitSystem(memory int64) error {
	if err := closeInherited(); err != nil {
		return err
	}
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: maxDescriptors}
	if !underRaceDetector {
		used, err := dataSize()
		if err != nil {
			return err
		}
		limits[unix.RLIMIT_DATA] = used + uint64(memory) + headroom // #nosec G115 -- sizes of the system are not negative
	}
	for resource, limit := range limits {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit resource %d: %w", resource, err)
		}
	}
	// One thread gives up privileges, and the filter of calls takes them from all others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	forbidCalls()
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // not everywhere writable; the limits hold without it
	return nil
}

// dataSize is how much memory counts for the limit already.
func dataSize() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read the size of this process: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 6 {
		return 0, errors.New("the size of this process cannot be read")
	}
	pages, err := strconv.ParseUint(fields[5], 10, 64)
	return pages * uint64(os.Getpagesize()), err // #nosec G115 -- sizes of the system are not negative
}

// clockTicks is how many units of processor time the kernel shows for a second.
const clockTicks = 100

// processorTime is what a process has used so far.
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("the processor time cannot be read")
	}
	user, problem := strconv.ParseInt(fields[11], 10, 64)
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks, errors.Join(problem, err)
}

// ownProcessorTime is what this process has used so far.
func ownProcessorTime() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// yieldingNice is the nice value of a process that lets others go first: beside one of ours that does not it gets a tenth of a processor.
const yieldingNice = 10

// lowerPriority lets what others run go before the threads of a process. Threads that it starts later inherit it, so those are looked for that were just
// being started.
func lowerPriority(pid int) {
	for range 2 {
		threads, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		for _, thread := range threads {
			if id, err := strconv.Atoi(thread.Name()); err == nil {
				_ = unix.Setpriority(unix.PRIO_PROCESS, id, yieldingNice)
			}
		}
	}
}

// closeInherited closes what the parent had open beside the pipes and did not close by itself. The runtime's own descriptors stay.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list descriptors: %w", err)
	}
	for _, entry := range entries {
		descriptor, err := strconv.Atoi(entry.Name())
		leads, problem := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil || problem != nil || descriptor <= 2 || strings.HasPrefix(leads, "anon_inode:[event") {
			continue
		}
		_ = unix.Close(descriptor)
	}
	return nil
}
