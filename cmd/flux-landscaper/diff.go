// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/landscape/forecast"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	cluster
	path, against, output string
	all, live             bool
}

func forecastCommand() *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff -f DIR",
		Short: "Show what the jobs after a change would do",
		Long: "Compare the landscape in a directory with what runs, or with another Git revision: which jobs would start and why, which DeployItems and objects on\n" +
			"targets they would add, change and delete, which exports would change and to whom they flow. The controllers of the engine work on a copy of the\n" +
			"landscape in memory; nothing is written. What cannot be known before a job is reported as unknown, with the reason. Secrets are masked.\n" +
			"Without -n and -A it compares the namespace of the objects in the directory, or all namespaces if they have several.\n" +
			"Exit status 0 means that nothing changes, 1 that something does.",
		Example: "  flux-landscaper diff -f landscape -n team\n" +
			"  flux-landscaper diff -f landscape --against HEAD~1 -o markdown",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.diff(cmd) },
	}
	flags := cmd.Flags()
	f.bindFlags(flags)
	f.bindNamespace(flags)
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "Compare the landscapes of all namespaces.")
	flags.StringVarP(&f.path, "path", "f", "", "The directory with the landscape. Paths of blueprints are those of the Git repository around it.")
	flags.StringVar(&f.against, "against", againstCluster, "What to compare with: cluster, or a Git revision such as main or HEAD~1.")
	flags.BoolVar(&f.live, "live", false, "Ask the API servers of the targets, too, by dry runs with the rights of the Targets: show what they refuse, and what a job sets back.")
	flags.StringVarP(&f.output, "output", "o", "text", "How to print the result: text, json, or markdown for pull requests.")
	cmd.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	_ = cmd.MarkFlagRequired("path")
	f.complete(cmd)
	return cmd
}

// againstCluster compares with what runs.
const againstCluster = "cluster"

func (f *diffFlags) diff(cmd *cobra.Command) error {
	if err := checkOutput(f.output, "text", "json", "markdown"); err != nil {
		return err
	}
	if f.live && f.against != againstCluster {
		return errors.New("--live asks the targets of the landscape in the cluster: leave out --against")
	}
	root, folder, err := openArtifact(f.path, "")
	if err != nil {
		return fmt.Errorf("--path %s cannot be read: %w", f.path, err)
	}
	defer func() { _ = root.Close() }()
	files, err := forecast.Directory(root.Name(), folder)
	if err != nil {
		return fmt.Errorf("--path %s: %w", f.path, err)
	}
	all := f.all
	if !all && f.namespace == "" {
		named, err := files.Namespaces()
		if err != nil {
			return fmt.Errorf("--path %s: %w", f.path, err)
		}
		if len(named) == 1 {
			f.namespace = named[0]
		}
		all = len(named) > 1
	}
	former := forecast.Former{Namespace: f.namespace}
	if f.against != againstCluster {
		revision, remove, err := forecast.Revision(cmd.Context(), root.Name(), folder, f.against)
		if err != nil {
			return fmt.Errorf("--against: %w", err)
		}
		defer remove()
		former.Files = revision
	} else {
		v, err := f.view(all)
		if err != nil {
			return err
		}
		former.Cluster, former.Namespace = v.client, v.namespace
		if f.live {
			if former.Targets, err = target.New(target.Options{Landscaper: v.config, LegacyTokens: true}); err != nil {
				return err
			}
		}
	}
	found, err := forecast.Of(cmd.Context(), former, files)
	if err != nil {
		return err
	}
	switch f.output {
	case "json":
		err = printJSON(cmd, found)
	case "markdown":
		_, err = fmt.Fprint(cmd.OutOrStdout(), found.Markdown())
	default:
		screen := landscape.NewScreen(os.Stdout)
		printLines(cmd.OutOrStdout(), found.Lines(screen.Width(), screen.Paint))
		printAction(cmd, "%s", found.Summary())
	}
	if err == nil && found.Differs() {
		return errReported
	}
	return err
}
