// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden are the calls of the system that no job needs: connections, other programs, and the memory of other processes, the parent's above all.
var forbidden = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_IO_URING_SETUP, unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV,
	unix.SYS_PROCESS_VM_WRITEV,
}

// architectures are those whose calls have the numbers that this program was built with.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

const (
	// numberAt and architectureAt are the places of both in what the kernel shows of a call.
	numberAt, architectureAt = 0, 4
	// otherNumbers is from where on amd64 has the numbers of another architecture for the same calls.
	otherNumbers = 1 << 30
)

// forbidCalls has the kernel refuse the calls that are forbidden, in all threads. The other limits hold where it cannot: no function of a template makes
// such calls.
func forbidCalls() {
	architecture, known := architectures[runtime.GOARCH]
	if !known {
		return
	}
	filter := filterOf(architecture)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}                                                                   // #nosec G115 -- it has some ten instructions
	_, _, _ = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))) // #nosec G103 -- there is no other way to pass it
	runtime.KeepAlive(filter)
}

// filterOf returns the program by which the kernel judges each call.
func filterOf(architecture uint32) []unix.SockFilter {
	const load, equal, atLeast, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	// refuse is how many instructions there are between the second one and the refusal.
	refuse := uint8(len(forbidden) + 3) // #nosec G115 -- there are some ten calls
	filter := []unix.SockFilter{
		{Code: load, K: architectureAt}, {Code: equal, K: architecture, Jf: refuse},
		{Code: load, K: numberAt}, {Code: atLeast, K: otherNumbers, Jt: refuse - 2},
	}
	for i, call := range forbidden {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jt: uint8(len(forbidden) - i)}) // #nosec G115 -- there are some ten calls
	}
	return append(filter, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW}, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
}
