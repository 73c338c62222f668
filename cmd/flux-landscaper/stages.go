// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

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

// environmentTable shows Environments and how far they are.
func environmentTable(s *landscape.Snapshot) *landscape.Table {
	list, installations := &s.Environments, ofDeployers(s)
	homes, installed := homesOf(list.Items), map[string]bool{}
	for i := range installations {
		env := installations[i].Labels[v1alpha1.DeployerEnvironmentLabel]
		installed[env] = installed[env] || homes[env] == installations[i].Namespace && installations[i].Status.JobIDFinished != ""
	}
	var rows [][]string
	for i := range list.Items {
		env := &list.Items[i]
		ready := 0
		for _, deployer := range env.Status.Deployers {
			if deployer.Ready {
				ready++
			}
		}
		connected := apimeta.IsStatusConditionTrue(env.Status.Conditions, v1alpha1.AgentConnectedCondition)
		rows = append(rows, []string{
			env.Name, stageOfEnvironment(env, installed[env.Name]), strconv.FormatBool(connected), cmp.Or(env.Status.AgentVersion, "-"),
			fmt.Sprintf("%d/%d", ready, len(env.Status.Deployers)), cmp.Or(env.Status.Namespace, "-"), message(env.Status.Conditions),
		})
	}
	return stageTable(rows, "NAME", "STAGE", "AGENT", "VERSION", "DEPLOYERS", "NAMESPACE", "MESSAGE")
}

// stageTable makes a table whose last column wraps. Columns before go from the right where they do not fit, but for the first two.
func stageTable(rows [][]string, titles ...string) *landscape.Table {
	table := &landscape.Table{}
	for i, title := range titles {
		last := i == len(titles)-1
		column := landscape.Column{Title: title, Wraps: last}
		if i > 2 && !last {
			column.Drop = i
		}
		table.Columns = append(table.Columns, column)
	}
	for _, cells := range rows {
		table.Rows = append(table.Rows, landscape.Row{Cells: cells})
	}
	return table
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

// ofDeployers returns the Installations of deployers, and others with their labels, by Environment and name.
func ofDeployers(s *landscape.Snapshot) []*v1alpha1.Installation {
	var found []*v1alpha1.Installation
	for i := range s.Installations.Items {
		inst := &s.Installations.Items[i]
		_, registered := inst.Labels[v1alpha1.DeployerRegistrationLabel]
		if _, placed := inst.Labels[v1alpha1.DeployerEnvironmentLabel]; registered && placed {
			found = append(found, inst)
		}
	}
	slices.SortFunc(found, func(a, b *v1alpha1.Installation) int {
		return cmp.Or(cmp.Compare(a.Labels[v1alpha1.DeployerEnvironmentLabel], b.Labels[v1alpha1.DeployerEnvironmentLabel]), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// deployerTable shows the deployers of all Environments and how far they are.
func deployerTable(s *landscape.Snapshot) *landscape.Table {
	homes, agents := homesOf(s.Environments.Items), map[string]*metav1.Condition{}
	for i := range s.Environments.Items {
		agents[s.Environments.Items[i].Name] = apimeta.FindStatusCondition(s.Environments.Items[i].Status.Conditions, v1alpha1.AgentConnectedCondition)
	}
	var rows [][]string
	seen := map[string]bool{}
	for _, installation := range ofDeployers(s) {
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
		rows = append(rows, []string{env, registration, stage, version, installation.Namespace + "/" + installation.Name, text})
	}
	rows = append(rows, missingRows(s.Environments.Items, s.Registrations.Items, seen)...)
	return stageTable(rows, "ENVIRONMENT", "DEPLOYER", "STAGE", "VERSION", "INSTALLATION", "MESSAGE")
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
