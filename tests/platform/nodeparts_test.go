// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMissingProgramsAreNamedByTheirPackages(t *testing.T) {
	t.Setenv("PATH", t.TempDir())

	missing := missingPackages()

	assert.Subset(t, missing, []string{"containerd", "runc", "iproute2", "iptables", "util-linux", "mount"})
	slices.Sort(missing)
	assert.Equal(t, slices.Compact(slices.Clone(missing)), missing, "each once")
}

func TestControlGroupsGoTheDeepestFirst(t *testing.T) {
	top := filepath.Join(t.TempDir(), "group")
	require.NoError(t, os.MkdirAll(filepath.Join(top, "pods", "one"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "pods", "two", "container"), 0o755))

	require.NoError(t, removeTree(top))

	assert.NoDirExists(t, top)
	assert.NoError(t, removeTree(top), "what is gone is no error")
}
