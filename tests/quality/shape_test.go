// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostLines is for one function, signature and braces included. Blocks of flags are exempt.
const mostLines = 120

func files(t *testing.T) []*File {
	t.Helper()
	files, err := Sources()
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestNoFunctionIsTooLong(t *testing.T) {
	for _, f := range Functions(files(t)) {
		if !f.Flags {
			assert.LessOrEqual(t, f.Lines, mostLines, "%s: %s: split it by what it decides", f.At, f.Name)
		}
	}
}
