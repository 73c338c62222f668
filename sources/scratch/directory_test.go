// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix

package scratch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const prefix = "landscaper-test-"

// inside has the temporary directory of this process be an empty one.
func inside(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

func made(t *testing.T) *Directory {
	d, err := Make(prefix)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Remove() })
	return d
}

// kill ends a process as the system does: its files stay, its locks do not.
func (d *Directory) kill(t *testing.T) {
	require.NoError(t, os.MkdirAll(filepath.Join(d.Path, "content"), 0o700))
	require.NoError(t, d.lock.Close())
}

func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	inside(t)
	left := made(t)
	left.kill(t)
	next := made(t)
	assert.NoDirExists(t, left.Path)
	assert.DirExists(t, next.Path)
}

func TestDirectoriesOfLivingProcessesStay(t *testing.T) {
	inside(t)
	other := made(t)
	made(t)
	assert.DirExists(t, other.Path)
	require.NoError(t, other.Remove())
	assert.NoDirExists(t, other.Path)
}

func TestDirectoriesOfOthersStay(t *testing.T) {
	dir := inside(t)
	without := filepath.Join(dir, prefix+"without-lock")
	named := filepath.Join(dir, "named-otherwise")
	elsewhere := t.TempDir()
	for _, path := range []string{without, named} {
		require.NoError(t, os.Mkdir(path, 0o700))
	}
	for _, path := range []string{named, elsewhere} {
		require.NoError(t, os.WriteFile(filepath.Join(path, lockName), nil, 0o600))
	}
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, prefix+"link")))
	made(t)
	for _, path := range []string{without, named, elsewhere} {
		assert.DirExists(t, path)
	}
	assert.FileExists(t, filepath.Join(elsewhere, lockName))
}
