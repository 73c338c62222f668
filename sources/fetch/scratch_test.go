// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix

package fetch

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

func made(t *testing.T) *directory {
	d, err := makeDirectory(prefix)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.remove() })
	return d
}

// kill ends a process as the system does: its files stay, its locks do not.
func (d *directory) kill(t *testing.T) {
	require.NoError(t, os.MkdirAll(filepath.Join(d.path, "content"), 0o700))
	require.NoError(t, d.lock.Close())
}

func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	inside(t)
	left := made(t)
	left.kill(t)
	next := made(t)
	assert.Equal(t, left.path, next.path)
	assert.NoDirExists(t, filepath.Join(left.path, "content"))
}

func TestDirectoriesOfLivingProcessesStay(t *testing.T) {
	inside(t)
	other := made(t)
	made(t)
	assert.DirExists(t, other.path)
	require.NoError(t, other.remove())
	assert.NoDirExists(t, other.path)
}

func TestWhatALinkLeadsToStays(t *testing.T) {
	dir, elsewhere := inside(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "content"), nil, 0o600))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, prefix+"0")))
	assert.NotEqual(t, elsewhere, made(t).path)
	assert.FileExists(t, filepath.Join(elsewhere, "content"))
}
