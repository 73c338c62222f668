// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command landscaper is everything that runs in a cluster, one sub-command each: the controller, the deployers, the
// webhooks and the agent.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set when a release is built.
var version = "v0.0.0-dev"

func main() {
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
