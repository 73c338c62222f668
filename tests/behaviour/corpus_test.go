// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// fill reads a manifest of the corpus and fills its placeholders.
func fill(t testing.TB, path string, values map[string]string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(landscape.Corpus(t), path))
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
