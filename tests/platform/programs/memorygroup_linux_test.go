// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

func TestWorkingSetCountsTheMemoryOfAProcess(t *testing.T) {
	group, err := programs.NewMemoryGroup(fmt.Sprintf("test-%d", os.Getpid()))
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	command, err := group.Contain(programs.Command{
		Name: "eater", Path: "/bin/sh", Dir: dir, Args: []string{"-c", `a=$(head -c 20000000 /dev/zero | tr '\0' a); touch done; sleep 100`},
	})
	require.NoError(t, err)
	process, err := programs.Start(command)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, process.Stop(time.Second))
		assert.Eventually(t, func() bool { return group.Close() == nil }, 10*time.Second, 10*time.Millisecond)
	})
	require.Eventually(t, func() bool { _, err := os.Stat(dir + "/done"); return err == nil }, 20*time.Second, 10*time.Millisecond)

	size, err := group.WorkingSet()

	require.NoError(t, err)
	assert.Greater(t, size, int64(20_000_000))
	assert.Less(t, size, int64(200_000_000))
}
