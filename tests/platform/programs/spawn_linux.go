// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import "syscall"

// maxrssUnit is the number of bytes that rusage counts the resident set in.
const maxrssUnit = 1024

func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isolatedAttributes are processAttributes of the first process of a machine: its processes, mounts and network are gone when it is.
func isolatedAttributes() *syscall.SysProcAttr {
	attributes := processAttributes()
	attributes.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	return attributes
}
