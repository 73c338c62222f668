// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package behaviour checks what a user observes: real API server, real Flux, our processes as they run in a cluster. Files are named for
// the behaviour, tests for their row of the acceptance matrix where one exists.
package behaviour

import (
	"os"
	"testing"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// pickupTimeout is short so that the test of it is.
const pickupTimeout = 5 * time.Second

// tick is how often to look where nothing can be watched.
const tick = 50 * time.Millisecond

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, platform.Options{Flux: true, Git: true, Registry: true}, "--pickup-timeout="+pickupTimeout.String()))
}
