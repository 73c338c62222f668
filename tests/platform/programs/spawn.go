// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

const (
	killSignal = syscall.SIGKILL
	stopSignal = syscall.SIGTERM
)

// starter starts processes on one OS thread that lives as long as this process: Linux sends the parent-death signal when
// the thread that forked ends, not when the process does.
var starter = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

// spawn starts cmd in a process group of its own that ends together with this process.
func spawn(cmd *exec.Cmd) error { return spawnWith(cmd, processAttributes()) }

func spawnWith(cmd *exec.Cmd, attributes *syscall.SysProcAttr) error {
	return spawnBy(starter(), cmd, attributes)
}

// spawnBy starts a program on the thread that takes starts.
func spawnBy(starts chan<- func(), cmd *exec.Cmd, attributes *syscall.SysProcAttr) error {
	cmd.SysProcAttr = attributes
	started := make(chan error, 1)
	starts <- func() { started <- cmd.Start() }
	return <-started
}

// signalGroup sends a signal to a process group that spawn made; a group that is gone already is no error.
func signalGroup(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(-pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
