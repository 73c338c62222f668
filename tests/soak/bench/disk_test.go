// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	fsyncs    = 200
	fsyncSize = 4 << 10
)

// measureDisk notes, once per report, how long the disk below the platform takes to keep a block.
func (r *run) measureDisk() error {
	if results.Host.Fsync != nil {
		return nil
	}
	durations, err := timeFsyncs(filepath.Dir(r.KubeconfigPath))
	if err != nil {
		return fmt.Errorf("cannot measure the disk: %w", err)
	}
	fsync := latencyOf(durations)
	results.Host.Fsync = &fsync
	return nil
}

// timeFsyncs appends blocks to a new file in a folder, each forced to the disk, and returns how long each took.
func timeFsyncs(dir string) (durations []time.Duration, err error) {
	file, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	block := make([]byte, fsyncSize)
	for range fsyncs {
		begin := time.Now()
		if _, err := file.Write(block); err != nil {
			return nil, err
		}
		if err := file.Sync(); err != nil {
			return nil, err
		}
		durations = append(durations, time.Since(begin))
	}
	return durations, nil
}
