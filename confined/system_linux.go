// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// executable is the own binary, also when its file has been replaced.
func executable() string { return "/proc/self/exe" }

// underRaceDetector: its shadow memory counts as memory of the process.
var underRaceDetector bool

// limitSystem has the kernel end a process that takes too much, and end this one first when the container is out of memory.
func limitSystem(memory int64) error {
	if err := closeInherited(); err != nil {
		return err
	}
	// Sixteen descriptors are enough for the pipes, the runtime and a file with time zones.
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 16}
	if !underRaceDetector {
		used, err := dataSize()
		if err != nil {
			return fmt.Errorf("read the size of this process: %w", err)
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
		return 0, err
	}
	var pages, other uint64
	_, err = fmt.Sscan(string(text), &other, &other, &other, &other, &other, &pages)
	return pages * uint64(os.Getpagesize()), err // #nosec G115 -- sizes of the system are not negative
}

// closeInherited closes what the parent had open beside the pipes and did not close by itself. The runtime's own descriptors stay.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		descriptor, err := strconv.Atoi(entry.Name())
		leads, problem := os.Readlink("/proc/self/fd/" + entry.Name())
		if err == nil && problem == nil && descriptor > 2 && !strings.HasPrefix(leads, "anon_inode:[event") {
			_ = unix.Close(descriptor)
		}
	}
	return err
}

// forbidden are the calls of the system that no job needs: connections, other programs, and the memory of other processes, the parent's above all.
var forbidden = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_IO_URING_SETUP, unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV,
	unix.SYS_PROCESS_VM_WRITEV,
}

// architectures are those whose calls have the numbers that this program was built with.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// forbidCalls has the kernel refuse the calls that are forbidden, in all threads. The other limits hold where it cannot: no function of a template makes
// such calls.
func forbidCalls() {
	architecture, known := architectures[runtime.GOARCH]
	if !known {
		return
	}
	const load, equal, atLeast, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	// Number and architecture of a call are at 0 and 4 of what the kernel shows of it. From 1 << 30 on, amd64 has the numbers of another architecture for the
	// same calls. Refuse is how many instructions there are between the second one and the refusal.
	refuse := uint8(len(forbidden) + 3) // #nosec G115 -- there are some ten calls
	filter := []unix.SockFilter{{Code: load, K: 4}, {Code: equal, K: architecture, Jf: refuse}, {Code: load, K: 0}, {Code: atLeast, K: 1 << 30, Jt: refuse - 2}}
	for i, call := range forbidden {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jt: uint8(len(forbidden) - i)}) // #nosec G115 -- there are some ten calls
	}
	filter = append(filter, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW}, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}                                                                   // #nosec G115 -- it has some ten instructions
	_, _, _ = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))) // #nosec G103 -- there is no other way to pass it
	runtime.KeepAlive(filter)
}
