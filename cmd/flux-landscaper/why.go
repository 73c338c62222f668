// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

func whyCommand() *cobra.Command {
	var from cluster
	var output string
	cmd := &cobra.Command{
		Use:   "why KIND/NAME",
		Short: "Say why an object is as it is, from the object to the cause, and who has to do what",
		Long: "Say why an object is as it is: the chain from the object to the cause, what the reason means and what to do, which commit it comes from, what\n" +
			"waits for it, what started the last job, and how long each part of that took. Kinds are " + strings.Join(kindNames(), ", ") + ".",
		Example: "  flux-landscaper why installation/shop -n team\n" +
			"  flux-landscaper why kustomization/apps -n team",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "yaml", "json"); err != nil {
				return err
			}
			v, snapshot, object, err := from.about(cmd, args)
			if err != nil {
				return err
			}
			now := time.Now()
			why := snapshot.Why(object, now)
			if output != "text" {
				return printStructured(cmd, why, output)
			}
			printLines(cmd.OutOrStdout(), why.Lines(v.screen.Width(), v.screen.Paint, now))
			return nil
		},
	}
	from.bindObject(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "How to print the result: text, yaml or json.")
	return cmd
}

// kindNames are the names of the kinds that can be asked for.
func kindNames() []string {
	var names []string
	for _, kind := range landscape.Kinds {
		if kind.Name != "Lease" {
			names = append(names, strings.ToLower(kind.Name))
		}
	}
	slices.Sort(names)
	return names
}

// completeObject completes KIND/NAME, and KIND NAME.
func (k *cluster) completeObject(args []string, begun string) ([]string, cobra.ShellCompDirective) {
	kind, _, named := strings.Cut(begun, "/")
	switch {
	case len(args) == 1:
		if found, ok := landscape.KindOf(args[0]); ok {
			return k.names(found.Name, ""), cobra.ShellCompDirectiveNoFileComp
		}
	case named:
		if found, ok := landscape.KindOf(kind); ok {
			return k.names(found.Name, kind+"/"), cobra.ShellCompDirectiveNoFileComp
		}
	case len(args) == 0:
		var kinds []string
		for _, name := range kindNames() {
			kinds = append(kinds, name+"/")
		}
		return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
