// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package confined

import (
	"os"
	"time"
)

// executable is the own binary; without one no worker starts.
func executable() string {
	path, _ := os.Executable()
	return path
}

// limitSystem ends a process that takes too much as soon as it notices that.
func limitSystem(memory int64) error {
	go func() {
		for range time.Tick(50 * time.Millisecond) {
			if taken() > memory+headroom {
				os.Exit(exitMemory)
			}
		}
	}()
	return nil
}
