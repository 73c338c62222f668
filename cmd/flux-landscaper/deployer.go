// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/conformance"
)

func deployerCommand() *cobra.Command {
	return group("deployer", "Check deployers", nil, conformanceCommand())
}

// conformanceFlags are the flags of deployer conformance.
type conformanceFlags struct {
	options                    conformance.Options
	kubeconfig, config, output string
}

func conformanceCommand() *cobra.Command {
	f := &conformanceFlags{}
	cmd := &cobra.Command{
		Use:   "conformance --type TYPE --kubeconfig FILE",
		Short: "Check that a running deployer keeps the contract of DeployItems",
		Long: "Check that a deployer, which runs against the cluster of the kubeconfig, keeps the contract of DeployItems. The command makes items of the\n" +
			"type, gives them jobs as an Execution does, checks what the deployer writes, and removes the items. The exit status is 1 if a check failed.\n" +
			"--config names a YAML file with values of spec.config in the fields good, changed, bad and slow; $(name) and $(namespace) in them\n" +
			"become those of the item. Checks without their configuration are skipped. docs/deployers.md explains the contract.\n\n" +
			"The checks are " + strings.Join(conformance.Names(), ", ") + ".",
		Example: "  flux-landscaper deployer conformance --type example.com/terraform --kubeconfig landscape.kubeconfig --config conformance.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.options.Type, "type", "", "The type of the DeployItems that the deployer carries out.")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "The kubeconfig of the cluster with the DeployItems.")
	flags.StringVarP(&f.options.Namespace, "namespace", "n", "", "The namespace to work in; by default one is made and removed.")
	flags.StringVar(&f.config, "config", "", "A YAML file with configurations in the fields good, changed, bad and slow.")
	flags.StringVar(&f.options.Target, "target", "", "A Target in --namespace for the items; by default they have none.")
	flags.DurationVar(&f.options.JobTimeout, "job-timeout", 30*time.Second, "How long the deployer may take for one job.")
	flags.DurationVar(&f.options.Quiet, "quiet", 3*time.Second, "How long an item is watched on which nothing may be written.")
	flags.IntVar(&f.options.Parallel, "parallel", 4, "How many checks run at a time.")
	flags.StringSliceVar(&f.options.Only, "only", nil, "The names of the checks to run; by default all.")
	flags.StringVarP(&f.output, "output", "o", "text", "How to print the result: text or json.")
	_ = cmd.MarkFlagRequired("type")
	_ = cmd.MarkFlagRequired("kubeconfig")
	return cmd
}

func (f *conformanceFlags) run(cmd *cobra.Command) (err error) {
	if err := checkOutput(f.output, "text", "json"); err != nil {
		return err
	}
	if f.config != "" {
		text, err := readFile("--config", f.config)
		if err != nil {
			return err
		}
		if f.options.Configurations, err = conformance.ReadConfigurations(text); err != nil {
			return fmt.Errorf("--config %s: %w", f.config, err)
		}
	}
	if f.options.Client, err = landscapeClient(f.kubeconfig); err != nil {
		return err
	}
	report, err := conformance.Run(cmd.Context(), f.options)
	if err != nil {
		return err
	}
	for _, left := range report.Left {
		printWarning(cmd, "%s", left)
	}
	if err := f.print(cmd, report); err != nil {
		return err
	}
	if report.Failed() {
		return errReported
	}
	return nil
}

// landscapeClient opens the cluster of a kubeconfig.
func landscapeClient(path string) (client.WithWatch, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return connect(config)
}

func (f *conformanceFlags) print(cmd *cobra.Command, report *conformance.Report) error {
	if f.output == "json" {
		return printJSON(cmd, report)
	}
	for _, result := range report.Results {
		line := "ok      " + result.Check
		switch result.Verdict {
		case conformance.Failed:
			line = fmt.Sprintf("FAILED  %s: %s. The contract: %s", result.Check, result.Seen, result.Contract)
		case conformance.Skipped:
			line = fmt.Sprintf("skipped %s: %s", result.Check, result.Seen)
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), strings.ReplaceAll(line, "\n", " ")); err != nil {
			return err
		}
	}
	return nil
}
