// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
)

// containerInit and containerWait run in Pods of the container deployer, which starts them.
func containerInit() *cobra.Command {
	return &cobra.Command{
		Use: "container-init", Short: "Prepare the files of a container DeployItem", Args: cobra.NoArgs, Hidden: true,
		RunE: func(*cobra.Command, []string) error { return sidecar.Init(os.Getenv) },
	}
}

func containerWait() *cobra.Command {
	return &cobra.Command{
		Use: "container-wait", Short: "Store state and exports of a container DeployItem", Args: cobra.NoArgs, Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("find the API server: %w", err)
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("connect to the API server: %w", err)
			}
			// The signal that ends the user's program reaches this one too, which still has to store the state.
			return sidecar.Wait(context.WithoutCancel(command.Context()), client, os.Getenv)
		},
	}
}
