// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command landscaper is everything that runs in a cluster, one sub-command each: the controller and the deployers.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set when a release is built.
var version = "v0.0.0-dev"

func main() {
	root := &cobra.Command{
		Use:           "landscaper",
		Short:         "Landscapes of Installations, made for Flux",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(controllerCommand(), deployerCommand())
	if err := root.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "landscaper:", err)
		os.Exit(1)
	}
}
