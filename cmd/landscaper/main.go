// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command landscaper is everything that runs in a cluster, one sub-command each: the controller, the deployers, the
// webhooks and the agent.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set when a release is built.
var version = "v0.0.0-dev"

// watchList is how client-go's feature gate is named in the environment. Initial objects that come one by one in a watch cost more
// than twice the CPU of a list, and after a restart nothing begins before all of them are there.
const watchList = "KUBE_FEATURE_WatchListClient"

func main() {
	if collectsByItself() {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv(watchList) == "" {
		_ = os.Setenv(watchList, "false") // at worst the start is slower
	}
	if err := rootCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "landscaper:", err)
		os.Exit(1)
	}
}

// rootCommand returns the command with all sub-commands.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "landscaper",
		Short:         "Landscapes of Installations, made for Flux",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(only(controllerOf()), deployerCommand(), only(agentOf()), only(webhooksOf()), containerInit(), containerWait(), formerRelay())
	root.SetFlagErrorFunc(withCure)
	return root
}

// serving returns a sub-command that runs until its context ends.
func serving(name, short string, run func(context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) },
	}
}

// only drops what comes with a command: what its flags set, which tests look at.
func only(command *cobra.Command, _ ...any) *cobra.Command { return command }
