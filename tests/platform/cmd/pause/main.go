// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command pause holds the namespaces of a Pod: it waits until it is asked to end and collects processes that have lost their parents.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	asked, orphaned := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM)
	signal.Notify(orphaned, syscall.SIGCHLD)
	for {
		select {
		case <-asked:
			return
		case <-orphaned:
			collect()
		}
	}
}

// collect takes leave of every child that has ended.
func collect() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}
