// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

func componentCommand() *cobra.Command {
	return group("component", "Publish and read component versions", []string{"components", "comp"})
}
