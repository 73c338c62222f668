// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithdrawnFlagsAndCommandsSayTheirCure(t *testing.T) {
	for name, args := range map[string][]string{
		"an agent":             {"agent", "--content-relay=ls-system/landscaper-relay"},
		"a helm deployer":      {"deployer", "helm", "--content-relay=ls-system/landscaper-relay"},
		"a container deployer": {"deployer", "container", "--content-relay", "ls-system/landscaper-relay"},
		"the controller":       {"controller", "--content-relay-namespace=ls-system"},
		"the relay":            {"relay", "--content-addr=:9444"},
	} {
		t.Run(name, func(t *testing.T) {
			command := rootCommand()
			command.SetArgs(args)
			command.SetOut(io.Discard)
			require.ErrorContains(t, command.ExecuteContext(t.Context()), "flux-landscaper mirror push")
		})
	}
	command := rootCommand()
	command.SetArgs([]string{"controller", "--never-was"})
	require.EqualError(t, command.ExecuteContext(t.Context()), "unknown flag: --never-was")
}
