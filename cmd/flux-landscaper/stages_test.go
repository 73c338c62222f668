// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/landscape/migration"
)

func condition(kind string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status}
}

func TestStagesOfEnvironments(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	connected := condition(v1alpha1.AgentConnectedCondition, metav1.ConditionTrue)
	lost := condition(v1alpha1.AgentConnectedCondition, metav1.ConditionFalse)
	ready := condition(meta.ReadyCondition, metav1.ConditionTrue)
	tests := map[string]struct {
		conditions []metav1.Condition
		seen       *metav1.Time
		deleted    *metav1.Time
		generation int64
		deployers  int
		installed  bool
		wants      string
	}{
		"nothing is known":          {nil, nil, nil, 1, 0, false, stageRegistering},
		"an agent never came":       {[]metav1.Condition{lost}, nil, nil, 1, 0, false, stageRegistering},
		"the agent went":            {[]metav1.Condition{lost, ready}, &now, nil, 1, 1, true, stageUnreachable},
		"no deployer is registered": {[]metav1.Condition{connected, ready}, &now, nil, 1, 0, false, stageRegistered},
		"its first deployers come":  {[]metav1.Condition{connected}, &now, nil, 1, 1, false, stageInstalling},
		"its only deployer changes": {[]metav1.Condition{connected}, &now, nil, 1, 1, true, stageUpgrading},
		"all are there":             {[]metav1.Condition{connected, ready}, &now, nil, 1, 2, true, stageReady},
		"its spec has changed":      {[]metav1.Condition{connected, ready}, &now, nil, 2, 2, true, stageUpgrading},
		"somebody has to act":       {[]metav1.Condition{connected, condition(meta.StalledCondition, metav1.ConditionTrue)}, &now, nil, 1, 1, true, stageFailed},
		"it is being deleted":       {[]metav1.Condition{connected, ready}, &now, &now, 1, 2, true, stageRemoving},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Generation: test.generation, DeletionTimestamp: test.deleted}}
			env.Status.Conditions, env.Status.AgentLastSeen, env.Status.ObservedGeneration = test.conditions, test.seen, 1
			env.Status.Deployers = make([]v1alpha1.EnvironmentDeployer, test.deployers)
			assert.Equal(t, test.wants, stageOfEnvironment(env, test.installed))
		})
	}
}

func TestStagesOfDeployers(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	ready, stalled := condition(meta.ReadyCondition, metav1.ConditionTrue), condition(meta.StalledCondition, metav1.ConditionTrue)
	tests := map[string]struct {
		job, finished string
		condition     metav1.Condition
		generation    int64
		deleted       *metav1.Time
		wants         string
	}{
		"no job yet":             {"", "", metav1.Condition{}, 1, nil, stageRegistering},
		"the first job":          {"a", "", metav1.Condition{}, 1, nil, stageInstalling},
		"the first job is over":  {"a", "a", ready, 1, nil, stageReady},
		"a second job":           {"b", "a", metav1.Condition{}, 1, nil, stageUpgrading},
		"a new spec without job": {"a", "a", ready, 2, nil, stageUpgrading},
		"the last job failed":    {"a", "a", stalled, 1, nil, stageFailed},
		"uninstalled":            {"b", "a", metav1.Condition{}, 1, &deleted, stageRemoving},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			i := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Generation: test.generation, DeletionTimestamp: test.deleted}}
			i.Status.JobID, i.Status.JobIDFinished, i.Status.ObservedGeneration = test.job, test.finished, 1
			i.Status.Conditions = []metav1.Condition{test.condition}
			assert.Equal(t, test.wants, stageOfDeployer(i))
		})
	}
}

func TestADeployerThatWaitsForItsAgentSaysSo(t *testing.T) {
	lost := condition(v1alpha1.AgentConnectedCondition, metav1.ConditionFalse)
	lost.Message = "the agent does not renew its Lease ls-env-east/landscaper-agent-east"
	connected := condition(v1alpha1.AgentConnectedCondition, metav1.ConditionTrue)
	deleted := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	own := condition(meta.ReadyCondition, metav1.ConditionFalse)
	own.Message = "job started"
	for name, test := range map[string]struct {
		agent       *metav1.Condition
		finished    string
		deleted     *metav1.Time
		stage, text string
	}{
		"in a partition":             {&lost, "a", nil, stageUnreachable, lost.Message},
		"removed in a partition":     {&lost, "a", &deleted, stageRemoving, lost.Message},
		"idle in a partition":        {&lost, "b", nil, stageReady, "done"},
		"while the agent is there":   {&connected, "a", nil, stageUpgrading, own.Message},
		"nothing is known of agents": {nil, "a", nil, stageUpgrading, own.Message},
	} {
		t.Run(name, func(t *testing.T) {
			i := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Generation: 1, DeletionTimestamp: test.deleted}}
			i.Status.JobID, i.Status.JobIDFinished, i.Status.ObservedGeneration = "b", test.finished, 1
			i.Status.Conditions = []metav1.Condition{own}
			if test.finished == "b" {
				i.Status.Conditions = []metav1.Condition{{Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Message: "done"}}
			}
			stage, text := stageWithAgent(i, test.agent)
			assert.Equal(t, [2]string{test.stage, test.text}, [2]string{stage, text})
		})
	}
}

func TestDeployersWithoutInstallationAreShownInEveryEnvironment(t *testing.T) {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	leaving := named("leaving")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	environments := []v1alpha1.Environment{{ObjectMeta: named("east")}, {ObjectMeta: named("west")}, {ObjectMeta: leaving}}
	environments[0].Status.Deployers = []v1alpha1.EnvironmentDeployer{{Name: "helm", Message: "the name is too long"}}
	registrations := []v1alpha1.DeployerRegistration{{ObjectMeta: named("helm")}, {ObjectMeta: named("mock")}, {ObjectMeta: leaving}}
	registrations[1].Status.Environments = []v1alpha1.RegistrationEnvironment{{Name: "west", Message: "it is not made yet"}}

	assert.Equal(t, [][]string{
		{"east", "helm", stageRegistering, "-", "-", "the name is too long"},
		{"west", "helm", stageRegistering, "-", "-", "-"},
		{"west", "mock", stageRegistering, "-", "-", "it is not made yet"},
	}, missingRows(environments, registrations, map[string]bool{"east/mock": true}))
}

// TestTablesAt80And140Columns has those that are made here; landscape has the others.
func TestTablesAt80And140Columns(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	lost := "the agent does not renew its Lease ls-env-east/landscaper-agent-east"
	east, west := v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "east"}}, v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "west"}}
	for env, status := range map[*v1alpha1.Environment]metav1.ConditionStatus{&east: metav1.ConditionFalse, &west: metav1.ConditionTrue} {
		message := map[bool]string{true: lost, false: "2 of 2 deployers are ready"}[status == metav1.ConditionFalse]
		env.Status.AgentLastSeen, env.Status.AgentVersion, env.Status.Namespace = &metav1.Time{Time: now}, "v1.2.3", "ls-env-"+env.Name
		env.Status.Deployers = []v1alpha1.EnvironmentDeployer{{Name: "helm", Ready: status == metav1.ConditionTrue}, {Name: "manifest", Ready: true}}
		for _, kind := range []string{v1alpha1.AgentConnectedCondition, meta.ReadyCondition} {
			env.Status.Conditions = append(env.Status.Conditions, metav1.Condition{Type: kind, Status: status, Message: message})
		}
	}
	snapshot := &landscape.Snapshot{}
	snapshot.Environments.Items = []v1alpha1.Environment{east, west}
	snapshot.Registrations.Items = []v1alpha1.DeployerRegistration{{ObjectMeta: metav1.ObjectMeta{Name: "helm"}}}
	snapshot.Installations.Items = []v1alpha1.Installation{{
		ObjectMeta: metav1.ObjectMeta{Name: "helm", Namespace: "ls-env-east", Labels: map[string]string{v1alpha1.DeployerEnvironmentLabel: "east", v1alpha1.DeployerRegistrationLabel: "helm"}},
		Status:     v1alpha1.InstallationStatus{JobStatus: v1alpha1.JobStatus{JobID: "1"}},
	}}
	shop := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "team", UID: "1"}}
	shop.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Installation"))
	event := func(kind, reason, message string, ago time.Duration) corev1.Event {
		return corev1.Event{Type: kind, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(now.Add(-ago)), InvolvedObject: corev1.ObjectReference{UID: shop.UID}}
	}
	finding := func(name string, outcome migration.Outcome, why ...string) *migration.Finding {
		return &migration.Finding{ID: landscape.ID{Kind: "DeployItem", Namespace: "team", Name: name}, Outcome: outcome, Why: why}
	}
	for name, table := range map[string]*landscape.Table{
		"environments": environmentTable(snapshot),
		"deployers":    deployerTable(snapshot),
		"events": eventTable([]corev1.Event{
			event("Normal", "Succeeded", "deployed 1 item in 3s", time.Minute),
			event("Warning", "RenderFailed", "deployExecutions[0]: the template fails at line 3: there is no import databse; did you mean database?", time.Second),
		}, []client.Object{shop}, now),
		"migrate-check": findingTable([]*migration.Finding{
			finding("web-release-tq5xz", migration.Changes, "would update ConfigMap team/web: /data/value, /data/other", "would delete ConfigMap team/left-over"),
			finding("program", migration.Unproven, "Its next job runs a program of yours, which decides what it changes."),
			finding("database-store-5kd8f", migration.Kept),
		}),
	} {
		for _, width := range []int{80, 140} {
			lines := table.Lines(width, false)
			for _, line := range lines {
				assert.LessOrEqual(t, utf8.RuneCountInString(line), width, line)
			}
			golden(t, fmt.Sprintf("%s.%d.golden", name, width), strings.Join(lines, "\n")+"\n")
		}
	}
}
