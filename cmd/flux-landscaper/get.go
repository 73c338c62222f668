// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func showCommand() *cobra.Command {
	return group("get", "Show what is in the landscaper cluster", nil,
		shown("environments", []string{"environment", "env"}, "Show the Environments and whether their agents give signs of life", environmentRows),
		shown("deployers", []string{"deployer", "dreg"}, "Show the deployers of all Environments, and how far they are", deployerRows))
}

// rows returns the heading of a table and its lines.
type rows func(cmd *cobra.Command, c client.Client) ([][]string, error)

// shown is a command that prints a table.
func shown(name string, aliases []string, short string, read rows) *cobra.Command {
	from := &cluster{}
	cmd := &cobra.Command{
		Use: name, Aliases: aliases, Short: short, Args: cobra.NoArgs,
		Example: "  flux-landscaper get " + name,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, c, err := from.open()
			if err != nil {
				return err
			}
			table, err := read(cmd, c)
			if err != nil {
				return err
			}
			return printTable(cmd.OutOrStdout(), table)
		},
	}
	from.bindFlags(cmd.Flags())
	return cmd
}

func printTable(w io.Writer, table [][]string) error {
	aligned := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, line := range table {
		for i, cell := range line {
			line[i] = strings.Join(strings.Fields(cell), " ")
		}
		if _, err := fmt.Fprintln(aligned, strings.Join(line, "\t")); err != nil {
			return err
		}
	}
	return aligned.Flush()
}

// Stages of Environments and deployers.
const (
	stageRegistering = "registering"
	stageRegistered  = "registered"
	stageInstalling  = "installing"
	stageUpgrading   = "upgrading"
	stageRemoving    = "removing"
	stageReady       = "ready"
	stageFailed      = "failed"
	stageUnreachable = "unreachable"
)

func environmentRows(cmd *cobra.Command, c client.Client) ([][]string, error) {
	list := &v1alpha1.EnvironmentList{}
	if err := c.List(cmd.Context(), list); err != nil {
		return nil, err
	}
	installations, err := ofDeployers(cmd, c)
	if err != nil {
		return nil, err
	}
	homes, installed := homesOf(list.Items), map[string]bool{}
	for i := range installations {
		env := installations[i].Labels[v1alpha1.DeployerEnvironmentLabel]
		installed[env] = installed[env] || homes[env] == installations[i].Namespace && installations[i].Status.JobIDFinished != ""
	}
	table := [][]string{{"NAME", "STAGE", "AGENT", "VERSION", "DEPLOYERS", "NAMESPACE", "MESSAGE"}}
	for i := range list.Items {
		env := &list.Items[i]
		ready := 0
		for _, deployer := range env.Status.Deployers {
			if deployer.Ready {
				ready++
			}
		}
		connected := apimeta.IsStatusConditionTrue(env.Status.Conditions, v1alpha1.AgentConnectedCondition)
		table = append(table, []string{
			env.Name, stageOfEnvironment(env, installed[env.Name]), strconv.FormatBool(connected), cmp.Or(env.Status.AgentVersion, "-"),
			fmt.Sprintf("%d/%d", ready, len(env.Status.Deployers)), cmp.Or(env.Status.Namespace, "-"), message(env.Status.Conditions),
		})
	}
	return table, nil
}

// stageOfEnvironment says how far an Environment is. One that was never ready registers; one of whose deployers a job is over upgrades.
func stageOfEnvironment(env *v1alpha1.Environment, installed bool) string {
	conditions := env.Status.Conditions
	agent := apimeta.FindStatusCondition(conditions, v1alpha1.AgentConnectedCondition)
	switch {
	case !env.DeletionTimestamp.IsZero():
		return stageRemoving
	case apimeta.IsStatusConditionTrue(conditions, meta.StalledCondition):
		return stageFailed
	case agent == nil || agent.Status != metav1.ConditionTrue && env.Status.AgentLastSeen == nil:
		return stageRegistering
	case agent.Status == metav1.ConditionFalse:
		return stageUnreachable
	case apimeta.IsStatusConditionTrue(conditions, meta.ReadyCondition) && env.Status.ObservedGeneration == env.Generation:
		if len(env.Status.Deployers) == 0 {
			return stageRegistered
		}
		return stageReady
	case installed:
		return stageUpgrading
	}
	return stageInstalling
}

func message(conditions []metav1.Condition) string {
	if ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition); ready != nil {
		return ready.Message
	}
	return "-"
}

// ofDeployers returns the Installations of deployers, and others with their labels.
func ofDeployers(cmd *cobra.Command, c client.Client) ([]v1alpha1.Installation, error) {
	list := &v1alpha1.InstallationList{}
	err := c.List(cmd.Context(), list, client.HasLabels{v1alpha1.DeployerRegistrationLabel, v1alpha1.DeployerEnvironmentLabel})
	return list.Items, err
}

func deployerRows(cmd *cobra.Command, c client.Client) ([][]string, error) {
	installations, err := ofDeployers(cmd, c)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(installations, func(a, b v1alpha1.Installation) int {
		return cmp.Or(cmp.Compare(a.Labels[v1alpha1.DeployerEnvironmentLabel], b.Labels[v1alpha1.DeployerEnvironmentLabel]), cmp.Compare(a.Name, b.Name))
	})
	environments, registrations := &v1alpha1.EnvironmentList{}, &v1alpha1.DeployerRegistrationList{}
	if err := errors.Join(c.List(cmd.Context(), environments), c.List(cmd.Context(), registrations)); err != nil {
		return nil, err
	}
	homes, agents := homesOf(environments.Items), map[string]*metav1.Condition{}
	for i := range environments.Items {
		agents[environments.Items[i].Name] = apimeta.FindStatusCondition(environments.Items[i].Status.Conditions, v1alpha1.AgentConnectedCondition)
	}
	table := [][]string{{"ENVIRONMENT", "DEPLOYER", "STAGE", "VERSION", "INSTALLATION", "MESSAGE"}}
	seen := map[string]bool{}
	for i := range installations {
		installation := &installations[i]
		version := "-"
		if component := installation.Spec.ComponentDescriptor; component != nil && component.Reference != nil {
			version = component.Reference.Version
		}
		env, registration := installation.Labels[v1alpha1.DeployerEnvironmentLabel], installation.Labels[v1alpha1.DeployerRegistrationLabel]
		if home := homes[env]; home != "" && home != installation.Namespace {
			continue // anybody may write labels in a namespace of his own
		}
		seen[env+"/"+registration] = true
		stage, text := stageWithAgent(installation, agents[env])
		table = append(table, []string{env, registration, stage, version, installation.Namespace + "/" + installation.Name, text})
	}
	return append(table, missingRows(environments.Items, registrations.Items, seen)...), nil
}

// homesOf returns the namespaces of Environments by their names.
func homesOf(environments []v1alpha1.Environment) map[string]string {
	homes := map[string]string{}
	for _, env := range environments {
		homes[env.Name] = env.Status.Namespace
	}
	return homes
}

// missingRows are the deployers that have no Installation yet: a registration has one in every Environment. Seen are those that have one.
func missingRows(environments []v1alpha1.Environment, registrations []v1alpha1.DeployerRegistration, seen map[string]bool) (table [][]string) {
	for _, env := range environments {
		for _, registration := range registrations {
			if seen[env.Name+"/"+registration.Name] || !env.DeletionTimestamp.IsZero() || !registration.DeletionTimestamp.IsZero() {
				continue
			}
			table = append(table, []string{env.Name, registration.Name, stageRegistering, "-", "-", whyMissing(env.Name, &registration, env.Status.Deployers)})
		}
	}
	return table
}

// whyMissing says why there is no Installation, as far as the Environment or the registration shows it.
func whyMissing(env string, registration *v1alpha1.DeployerRegistration, deployers []v1alpha1.EnvironmentDeployer) string {
	for _, deployer := range deployers {
		if deployer.Name == registration.Name && deployer.Message != "" {
			return deployer.Message
		}
	}
	for _, shown := range registration.Status.Environments {
		if shown.Name == env && shown.Message != "" {
			return shown.Message
		}
	}
	return "-"
}

// stageWithAgent says how far the Installation of a deployer is, and what keeps it there: without agent nothing of it goes on.
func stageWithAgent(installation *v1alpha1.Installation, agent *metav1.Condition) (stage, text string) {
	stage, text = stageOfDeployer(installation), message(installation.Status.Conditions)
	if stage == stageReady || stage == stageFailed || agent == nil || agent.Status != metav1.ConditionFalse {
		return stage, text
	}
	if stage != stageRemoving {
		stage = stageUnreachable
	}
	return stage, agent.Message
}

// stageOfDeployer says how far the Installation of a deployer is. Before the first job has succeeded it installs, afterwards it upgrades.
func stageOfDeployer(installation *v1alpha1.Installation) string {
	status := &installation.Status
	current := status.IsIdle() && status.ObservedGeneration == installation.Generation
	switch {
	case !installation.DeletionTimestamp.IsZero():
		return stageRemoving
	case status.JobID == "":
		return stageRegistering
	case current && apimeta.IsStatusConditionTrue(status.Conditions, meta.ReadyCondition):
		return stageReady
	case current && apimeta.IsStatusConditionTrue(status.Conditions, meta.StalledCondition):
		return stageFailed
	case status.JobIDFinished != "":
		return stageUpgrading
	}
	return stageInstalling
}
