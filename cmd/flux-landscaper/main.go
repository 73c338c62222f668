// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command flux-landscaper is the command line for people: it checks and publishes blueprints and component versions, and checks
// deployers. Flux finds it as the plugin `flux landscaper`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version = "v0.0.0-dev"

// errReported ends the process with status 1 after everything has been said.
var errReported = errors.New("reported")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if !errors.Is(err, errReported) {
		printError(os.Stderr, err)
	}
	os.Exit(1)
}

func rootCommand() *cobra.Command {
	var timeout time.Duration
	var cancel context.CancelFunc
	root := &cobra.Command{
		Use:           "flux-landscaper",
		Short:         "Check and publish blueprints and components for landscapes on Flux, and check deployers",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout %s is not positive; give a duration such as 5m", timeout)
			}
			var ctx context.Context
			ctx, cancel = context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("the operation took longer than --timeout %s", timeout))
			cmd.SetContext(ctx)
			return nil
		},
		PersistentPostRun: func(*cobra.Command, []string) { cancel() },
	}
	root.PersistentFlags().DurationVar(&timeout, "timeout", 5*time.Minute, "How long the operation may take.")
	root.AddCommand(blueprintCommand(), componentCommand(), deployerCommand(), agentCommand(), mirrorCommand(), showCommand(), installationCommand(), targetCommand())
	return root
}

// printAction says what is being done, on stderr, so that stdout has results only.
func printAction(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "► "+format+"\n", args...)
}

func printDone(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "✔ "+format+"\n", args...)
}

func printWarning(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "⚠ "+format+"\n", args...)
}

func printError(w io.Writer, err error) {
	fmt.Fprintf(w, "✗ %v\n", err)
}
