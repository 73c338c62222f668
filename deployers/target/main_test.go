// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"os"
	"testing"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		LandscaperCRDs: true, Audit: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}
