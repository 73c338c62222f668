// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFolderWithoutHistoryHasNoPreviousCommit(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+modulePath+"\n"), 0o600))
	t.Chdir(dir)
	_, err := CheckOutPrevious(t.Context(), 1)
	require.ErrorIs(t, err, ErrNoPrevious)
	_, err = CheckOut(t.Context(), UpgradedFrom)
	require.ErrorIs(t, err, ErrNoPrevious)
	require.ErrorContains(t, err, UpgradedFrom)
}
