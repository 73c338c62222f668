// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"os"
	"path/filepath"
	"testing"
)

// Corpus returns the folder with the manifests of existing users, which lies beside the checkout or where FLUX_LANDSCAPER_CORPUS says. It
// skips the test where there is none.
func Corpus(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("FLUX_LANDSCAPER_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("THE CORPUS IS NOT HERE: %v; set FLUX_LANDSCAPER_CORPUS to its folder", err)
	}
	return dir
}
