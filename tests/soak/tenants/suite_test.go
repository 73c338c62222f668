// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"os"
	"testing"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, platform.Options{Registry: true, Flux: true}))
}

type object = map[string]any
