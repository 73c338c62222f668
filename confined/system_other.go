// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package confined

import "os"

// executable is the own binary.
func executable() (string, error) { return os.Executable() }

// limitSystem does nothing: memory is limited by what is noticed after each garbage collection.
func limitSystem(int64) error { return nil }
