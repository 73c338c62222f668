// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package confined

import (
	"errors"
	"os"
	"time"
)

// executable is the own binary.
func executable() (string, error) { return os.Executable() }

// processorTime is not known here.
func processorTime(int) (time.Duration, error) {
	return 0, errors.New("the processor time is not known on this system")
}

// ownProcessorTime is not known here.
func ownProcessorTime() time.Duration { return 0 }

// lowerPriority does nothing: threads have no priorities of their own everywhere.
func lowerPriority(int) {}

// limitSystem does nothing: memory is limited by what is noticed after each garbage collection.
func limitSystem(int64) error { return nil }
