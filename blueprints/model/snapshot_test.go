// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestASnapshotOfAWorkingTreeIsThatOfItsFiles has a folder as an author has it.
func TestASnapshotOfAWorkingTreeIsThatOfItsFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"blueprint.yaml": "a", "sub/part": "b", ".git/HEAD": "c"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	plain, digest, err := Snapshot(os.DirFS(dir))
	require.NoError(t, err)
	require.NoError(t, os.Symlink("sub", filepath.Join(dir, "folder")))
	require.NoError(t, os.Symlink("/nowhere", filepath.Join(dir, "lost")))
	linked, same, err := Snapshot(os.DirFS(dir))
	require.NoError(t, err)
	assert.Equal(t, digest, same)
	assert.Equal(t, plain, linked)
	assert.Len(t, plain, 3, "two files and a folder: %v", plain)
}
