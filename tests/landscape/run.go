// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// AllRights are the groups of a user who may do everything.
var AllRights = []string{"system:masters"}

// ownMemory is what the garbage collector of a process goes by, in bytes, beside what its children may take. The pages of the program come on top. The
// manifests in flux/ leave a process more, so that it collects garbage less often.
const ownMemory = 256 << 20

// memoryLimit returns the environment variable with the limit of a command.
func memoryLimit(command string) string {
	var children int64
	switch command {
	case "controller":
		children = confined.DefaultLimits().Most()
	case "deployer helm":
		limits := confined.DefaultLimits()
		limits.Memory = helm.ChildMemory
		children = limits.Most()
	}
	return fmt.Sprintf("GOMEMLIMIT=%d", ownMemory+children)
}

// Start starts a sub-command of our binary, e.g. "deployer mock", on a cluster and returns at once. It works as a user of its own, so that
// its requests can be counted. It serves health on a free address and no metrics, unless the flags say otherwise.
func Start(ctx context.Context, c *platform.Cluster, user string, groups []string, command string, flags ...string) (*programs.Process, error) {
	binary, err := binaries.BuildLandscaper(ctx)
	if err != nil {
		return nil, err
	}
	config, err := c.NewUser(user, groups...)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := platform.KubeconfigFor(config)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(c.KubeconfigPath), user+"-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return nil, err
	}
	args := append(strings.Fields(command), "--metrics-addr=0", "--health-addr="+FreeAddress())
	args = append(args, servers.EventFlags(command)...)
	return programs.Start(programs.Command{
		Name: user, Path: binary, Args: append(args, flags...), Dir: dir, Env: []string{"KUBECONFIG=" + path, "RUNTIME_NAMESPACE=ls-system", memoryLimit(command)},
	})
}

// Run starts like Start. The process ends with the test at the latest; if the test has failed, the end of its log is printed.
func Run(ctx context.Context, t testing.TB, c *platform.Cluster, user string, groups []string, command string, flags ...string) *programs.Process {
	t.Helper()
	process, err := Start(ctx, c, user, groups, command, flags...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of %s:\n%s", user, process.LogTail(40))
		}
		require.NoError(t, process.Stop(Patience))
	})
	return process
}

// FreeAddress returns a loopback address for a program of a test, or one whose port the kernel chooses when none is free.
func FreeAddress() string {
	address, err := programs.FreeAddress()
	if err != nil {
		return programs.Loopback + ":0"
	}
	return address
}
