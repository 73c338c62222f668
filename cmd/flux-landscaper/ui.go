// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/landscape/page"
)

// uiCommandName is the command that goes on until it is stopped, as those with --watch do.
const uiCommandName = "ui"

func uiCommand() *cobra.Command {
	var from cluster
	var all bool
	var port uint16
	cmd := &cobra.Command{
		Use:   uiCommandName,
		Short: "Show the landscape as a page in a browser",
		Long: "Show the landscape as a page in a browser: who gives what to whom, what is not well and why. The page only reads, with the rights of the\n" +
			"kubeconfig, and shows no contents of Secrets, DataObjects and Targets. It is served until the command is stopped, on the loopback\n" +
			"address only, as by kubectl proxy: everybody who works on this machine can open it.",
		Args: cobra.NoArgs,
		Example: "  flux-landscaper ui -n team\n" +
			"  flux-landscaper ui -A --port 8080",
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := from.view(all)
			if err != nil {
				return err
			}
			listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
			if err != nil {
				return err
			}
			snapshots, err := landscape.Watch(cmd.Context(), v.config, v.client, v.namespace)
			if err != nil {
				return fmt.Errorf("%s: %w", v.at, err)
			}
			address := "http://" + listener.Addr().String()
			scope := "all namespaces"
			if v.namespace != "" {
				scope = where(v.namespace)
			}
			printDone(cmd, "the landscape of %s is at %s until this command is stopped", scope, address)
			openBrowser(cmd.Context(), address)
			server := &page.Server{Cluster: v.config.Host, Namespace: v.namespace, Reader: v.client}
			return server.Serve(cmd.Context(), listener, snapshots)
		},
	}
	flags := cmd.Flags()
	from.bindFlags(flags)
	from.bindNamespace(flags)
	flags.BoolVarP(&all, "all-namespaces", "A", false, "Show the Installations of all namespaces.")
	flags.Uint16Var(&port, "port", 0, "The port on the loopback address; 0 takes a free one.")
	cmd.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	from.complete(cmd)
	return cmd
}

// openBrowser shows an address where this machine has a screen. Whoever sees nothing has read the address.
func openBrowser(ctx context.Context, address string) {
	var command []string
	switch {
	case runtime.GOOS == "darwin":
		command = []string{"open"}
	case runtime.GOOS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		command = []string{"xdg-open"}
	default:
		return
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], address)...) // #nosec G204 -- the programs stand above, and the address is our own
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // its end is of no interest
	}
}
