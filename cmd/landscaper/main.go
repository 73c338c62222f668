// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command landscaper is everything that runs in a cluster, one sub-command each: the controller, the deployers, the
// webhooks and the agent.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	root.AddCommand(only(controllerOf()), deployerCommand(), only(agentOf()), only(webhooksOf()), only(uiOf()), containerInit(), containerWait(), formerRelay())
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

// useMirror is what to do in place of the content relay.
const useMirror = "there is no content relay; fill a registry inside the fence with flux-landscaper mirror push and name it with --oci-mirror, see docs/relay-to-mirror.md"

// withdrawn are the flags that former releases had, with what to do instead.
var withdrawn = map[string]string{
	"content-relay":           useMirror,
	"content-relay-namespace": useMirror,
}

// withCure adds to an error about the flags of a command what to do in place of a withdrawn one.
func withCure(_ *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && withdrawn[unknown.GetSpecifiedName()] != "" {
		return fmt.Errorf("--%s is withdrawn: %s", unknown.GetSpecifiedName(), withdrawn[unknown.GetSpecifiedName()])
	}
	return err
}

// formerRelay is the sub-command of the content relay, for those whose manifests still start it.
func formerRelay() *cobra.Command {
	return &cobra.Command{Use: "relay", Hidden: true, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error { return errors.New(useMirror) }}
}
