// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// corpusDir returns the folder with the manifests of existing users, which lies beside the checkout or where
// FLUX_LANDSCAPER_CORPUS says.
func corpusDir(t *testing.T) string {
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

// fill reads a manifest of the corpus and fills its placeholders.
func fill(t *testing.T, path string, values map[string]string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(corpusDir(t), path))
	require.NoError(t, err)
	text := string(raw)
	for name, value := range values {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	return text
}

// indent shifts a text to the right, as the placeholder of a kubeconfig wants it.
func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("      " + line)
	}
	return out.String()
}
