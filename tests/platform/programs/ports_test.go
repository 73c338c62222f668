// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

func TestNoPortIsGivenAwayTwice(t *testing.T) {
	seen := map[string]bool{}
	for range 600 {
		address, err := programs.FreeAddress()
		require.NoError(t, err)
		assert.False(t, seen[address], "%s was given away before", address)
		seen[address] = true
	}
}

func TestAnAddressOfAnotherHostIsNotTheOneOfLoopback(t *testing.T) {
	address, err := programs.FreeAddressOf("127.0.0.2")
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.2", host)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	assert.Less(t, number, 32768, "the kernel gives ports from here on to outgoing connections")
}
