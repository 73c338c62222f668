// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// versions are what runs, as version prints it.
type versions struct {
	Client string `json:"client"`
	// API are the versions of the kinds that the cluster serves.
	API []string `json:"api,omitempty"`
	// Processes are those of this cluster, and those that report to it from others.
	Processes []*process `json:"processes,omitempty"`
}

// process is a controller, webhook server, deployer or agent.
type process struct {
	// Runs says what it is, such as controller or deployer helm.
	Runs string `json:"runs"`
	// At is the Deployment or Environment that it belongs to, or the name under which a deployer writes into DeployItems.
	At      string `json:"at"`
	Image   string `json:"image,omitempty"`
	Version string `json:"version,omitempty"`
	// Skew says that the client is of another release, further away than one minor version.
	Skew bool `json:"skew"`

	deployment *appsv1.Deployment
}

func versionCommand() *cobra.Command {
	var from cluster
	var alone bool
	var output string
	cmd := &cobra.Command{
		Use: "version", Args: cobra.NoArgs,
		Short: "Print the versions of this command and of what is installed",
		Long: "Print the version of this command, and those of the controller, the deployers and the agents by their images or by what they report. The exit\n" +
			"status is 1 if one is more than one minor version away from this command.",
		Example: "  flux-landscaper version --client\n  flux-landscaper version -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "yaml", "json"); err != nil {
				return err
			}
			all := versions{Client: version}
			if !alone {
				if err := all.read(cmd, &from); err != nil {
					return fmt.Errorf("%w; --client prints the version of this command alone", err)
				}
			}
			if output != "text" {
				if err := printStructured(cmd, all, output); err != nil {
					return err
				}
				return all.skew()
			}
			fmt.Fprintf(cmd.OutOrStdout(), "flux-landscaper: %s\n", all.Client)
			if len(all.API) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", v1alpha1.GroupVersion.Group, strings.Join(all.API, ", "))
			}
			for _, p := range all.Processes {
				fmt.Fprintln(cmd.OutOrStdout(), p)
				if p.Skew {
					printWarning(cmd, "%s", p.skewed())
				}
			}
			return all.skew()
		},
	}
	from.bindFlags(cmd.Flags())
	cmd.Flags().BoolVar(&alone, "client", false, "Print the version of this command alone, without a cluster.")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "How to print the result: text, yaml or json.")
	from.complete(cmd)
	return cmd
}

func (v *versions) skew() error {
	if slices.ContainsFunc(v.Processes, func(p *process) bool { return p.Skew }) {
		return errReported
	}
	return nil
}

// read asks the cluster. What may not be listed is left out.
func (v *versions) read(cmd *cobra.Command, from *cluster) error {
	view, err := from.view(true)
	if err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfig(view.config)
	if err != nil {
		return err
	}
	groups, err := server.ServerGroups()
	if err != nil {
		return fmt.Errorf("%s: %w", view.at, err)
	}
	for _, group := range groups.Groups {
		if group.Name == v1alpha1.GroupVersion.Group {
			for _, served := range group.Versions {
				v.API = append(v.API, served.Version)
			}
		}
	}
	if len(v.API) == 0 {
		printWarning(cmd, "no kind of %s is served", v1alpha1.GroupVersion.Group)
		return nil
	}
	if v.Processes, err = processesIn(cmd.Context(), view.client); err != nil {
		printWarning(cmd, "the processes of this cluster are left out: %v", err)
	}
	snapshot, err := view.read(cmd, "DeployItem", "Environment")
	if err != nil {
		return err
	}
	v.Processes = append(v.Processes, reporting(snapshot, v.Processes)...)
	return nil
}

// processesIn returns the processes that Deployments of a cluster run.
func processesIn(ctx context.Context, c client.Client) ([]*process, error) {
	all := &appsv1.DeploymentList{}
	if err := c.List(ctx, all); err != nil {
		return nil, err
	}
	var found []*process
	for i := range all.Items {
		deployment := &all.Items[i]
		runs := processOf(deployment.Spec.Template.Spec)
		if runs == "" {
			continue
		}
		p := &process{Runs: runs, At: deployment.Namespace + "/" + deployment.Name, Image: deployment.Spec.Template.Spec.Containers[0].Image, deployment: deployment}
		_, tag, _ := strings.Cut(p.Image[strings.LastIndex(p.Image, "/")+1:], ":")
		p.Version, _, _ = strings.Cut(tag, "@")
		p.Skew = isSkewed(p.Version, version)
		found = append(found, p)
	}
	return found, nil
}

// processOf returns what a Pod runs of ours, such as controller or deployer helm; empty if nothing.
func processOf(pod corev1.PodSpec) string {
	if len(pod.Containers) == 0 || !strings.Contains(pod.Containers[0].Name, "landscaper") || len(pod.Containers[0].Args) == 0 {
		return ""
	}
	args := pod.Containers[0].Args
	switch {
	case args[0] == "deployer" && len(args) > 1:
		return args[0] + " " + args[1]
	case slices.Contains([]string{"controller", "webhooks", "agent"}, args[0]):
		return args[0]
	}
	return ""
}

// reporting returns agents, and deployers that no process of the cluster is and that write their version into DeployItems.
func reporting(snapshot *landscape.Snapshot, known []*process) []*process {
	var found []*process
	for i := range snapshot.Environments.Items {
		env := &snapshot.Environments.Items[i]
		if env.Status.AgentVersion != "" {
			found = append(found, &process{Runs: "agent", At: "Environment " + env.Name, Version: env.Status.AgentVersion, Skew: isSkewed(env.Status.AgentVersion, version)})
		}
	}
	last := map[string]*v1alpha1.DeployItem{}
	for i := range snapshot.DeployItems.Items {
		item := &snapshot.DeployItems.Items[i]
		by := item.Status.Deployer
		if by == nil || slices.ContainsFunc(known, func(p *process) bool { return p.Runs == "deployer "+strings.TrimSuffix(by.Name, ownDeployers) }) {
			continue
		}
		if before := last[by.Name]; before == nil || before.Status.LastReconcileTime.Before(item.Status.LastReconcileTime) {
			last[by.Name] = item
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		found = append(found, &process{Runs: "deployer " + name, At: "by DeployItem " + last[name].Namespace + "/" + last[name].Name, Version: last[name].Status.Deployer.Version})
	}
	return found
}

// ownDeployers ends the names of the deployers of this project.
const ownDeployers = ".deployer." + v1alpha1.GroupName

// isSkewed reports whether two versions are more than one minor version apart; what is no release is not.
func isSkewed(a, b string) bool {
	theirs, err := semver.NewVersion(a)
	mine, errMine := semver.NewVersion(b)
	if err != nil || errMine != nil || mine.Prerelease() == "dev" {
		return false
	}
	return theirs.Major() != mine.Major() || max(theirs.Minor(), mine.Minor())-min(theirs.Minor(), mine.Minor()) > 1
}

// String is a line for people: what runs, its version, and where.
func (p *process) String() string {
	return landscape.Plain(fmt.Sprintf("%s: %s (%s)", p.Runs, cmp.Or(p.Version, p.Image, "unknown"), p.At))
}

func (p *process) skewed() string {
	return fmt.Sprintf("%s is of release %s, this command of %s: use the command of that release", p.At, p.Version, version)
}
