// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// filePages is what this process has mapped of files, in KiB.
func filePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "RssFile:")
	require.True(t, found)
	var kib int
	_, err = fmt.Sscan(rest, &kib)
	require.NoError(t, err)
	return kib
}

func TestPagesThatOnlyTheStartNeededAreGivenBack(t *testing.T) {
	before := filePages(t)
	require.NoError(t, releaseFile())
	after := filePages(t)
	t.Logf("%d KiB of files were mapped, %d KiB are", before, after)
	assert.Less(t, after, before)
}

func TestMappingsOf(t *testing.T) {
	const smaps = `00400000-00500000 r-xp 00000000 fe:00 42                         /bin/program
Size:               1024 kB
Anonymous:             0 kB
00500000-00600000 r--p 00100000 fe:00 42                         /bin/program
Anonymous:             8 kB
00600000-00700000 rw-p 00200000 fe:00 42                         /bin/program
Anonymous:             0 kB
00700000-00800000 r--p 00000000 fe:00 43                         /bin/other
Anonymous:             0 kB
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
Anonymous:             0 kB
`
	assert.Equal(t, []mapping{{0x400000, 0x500000}}, mappingsOf([]byte(smaps), "/bin/program"))
	assert.Empty(t, mappingsOf([]byte("nonsense\nAnonymous: 0 kB"), "/bin/program"))
}
