// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// namer is a sub-installation that deploys a ConfigMap named like its import and exports that name with a suffix.
func namer(name, imported, suffix string) object {
	return object{
		"name": name,
		"blueprint": inTemplate(object{
			"imports": list{object{"name": "in", "schema": object{"type": "string"}}, object{"name": "cluster", "targetType": clusterType}},
			"exports": dataExports("out"),
			"deployExecutions": goTemplate("deployItems:\n" +
				configItem("item", "{import: cluster}", "'{{ .imports.in }}'", "'{{ .imports.in }}'")),
			"exportExecutions": goTemplate("exports: {out: '{{ .imports.in }}" + suffix + "'}"),
		}),
		"imports": object{
			"data":    list{object{"name": "in", "dataRef": imported}},
			"targets": list{object{"name": "cluster", "target": "cluster"}},
		},
		"exports": object{"data": list{object{"name": "out", "dataRef": name}}},
	}
}

// named is the spec of a root that imports a base name for its sub-installations and exports the list of all names.
func named(exported string, subs ...any) object {
	return object{
		"blueprint": inline(object{
			"imports":          list{object{"name": "base", "schema": object{"type": "string"}}, object{"name": "cluster", "targetType": clusterType}},
			"exports":          dataExports("names"),
			"subinstallations": subs,
			"exportExecutions": goTemplate("exports:\n  names:\n  {{- range $key, $value := .dataobjects }}\n  - {{ $key }}={{ $value }}\n  {{- end }}"),
		}),
		"imports": object{
			"data":    list{object{"name": "base", "dataRef": "base"}},
			"targets": list{object{"name": "cluster", "target": "cluster"}},
		},
		"exports": object{"data": list{object{"name": "names", "dataRef": exported}}},
	}
}

func keys[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names
}

func TestB501ToB503ChangesOfSubinstallations(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.data("base", "cm")
	s.install("root", named("names", namer("one", "base", "-x"), namer("two", "one", "-x")))
	s.succeeded("root")
	assert.ElementsMatch(t, []string{"cm", "cm-x"}, keys(s.configs()))
	assert.JSONEq(t, `["base=cm","one=cm-x","two=cm-x-x"]`, s.value("names"))

	s.install("root", named("renamed", namer("one", "base", "-x"), namer("two", "one", "-x"), namer("three", "two", "-x")))
	s.succeeded("root")
	assert.ElementsMatch(t, []string{"cm", "cm-x", "cm-x-x"}, keys(s.configs()), "B501: one more")
	assert.JSONEq(t, `["base=cm","one=cm-x","three=cm-x-x-x","two=cm-x-x"]`, s.value("renamed"))
	assert.False(t, s.exists(s.dataObject("names")), "the former export is gone")

	s.install("root", named("renamed", namer("one", "base", "-y"), namer("two", "one", "-x"), namer("three", "two", "-y")))
	job := s.succeeded("root").Status.JobID
	assert.ElementsMatch(t, []string{"cm", "cm-y", "cm-y-x"}, keys(s.configs()), "B502: other versions")
	assert.JSONEq(t, `["base=cm","one=cm-y","three=cm-y-x-y","two=cm-y-x"]`, s.value("renamed"))

	s.data("base", "changed")
	s.reconcile("root")
	s.Ran("root", job, v1alpha1.PhaseSucceeded)
	assert.ElementsMatch(t, []string{"changed", "changed-y", "changed-y-x"}, keys(s.configs()), "B503: another import")
	assert.JSONEq(t, `["base=changed","one=changed-y","three=changed-y-x-y","two=changed-y-x"]`, s.value("renamed"))

	s.install("root", named("renamed", namer("one", "base", "-y")))
	s.succeeded("root")
	assert.ElementsMatch(t, []string{"changed"}, keys(s.configs()), "B501: fewer")
	assert.JSONEq(t, `["base=changed","one=changed-y"]`, s.value("renamed"))

	s.install("root", named("renamed"))
	s.succeeded("root")
	assert.Empty(t, s.configs())
	assert.JSONEq(t, `["base=changed"]`, s.value("renamed"))
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"))
}

func indent(by int, text string) string {
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+pad)
}

// deep nests a waiting or succeeding item as many levels down.
func deep(levels int, items string) object {
	parts := object{"deployExecutions": goTemplate("deployItems:\n" + items)}
	for range levels {
		parts = object{"subinstallations": list{object{"name": "down", "blueprint": inTemplate(parts)}}}
	}
	return object{"blueprint": inline(parts)}
}

func TestC28InterruptOfNestedStructures(t *testing.T) {
	s := newScene(t)
	s.install("root", deep(3, waitingItem("stuck")))
	require.Eventually(t, func() bool { return len(s.deployItems(v1alpha1.PhaseProgressing)) == 1 }, landscapePatience, tick)
	running := s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })
	s.Annotate(s.Installation("root"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	ended := s.Ended("root", v1alpha1.PhaseFailed)
	assert.Contains(t, ended.Status.LastError.Message, "operation was interrupted")
	assert.Equal(t, running.Status.JobID, ended.Status.JobIDFinished)
	assert.Len(t, s.deployItems(v1alpha1.PhaseFailed), 1)
	all := &v1alpha1.InstallationList{}
	require.NoError(t, s.Client().List(s.Ctx, all, client.InNamespace(s.Namespace)))
	require.Len(t, all.Items, 4)
	for i := range all.Items {
		s.AwaitState(all.Items[i].Name, func(inst *v1alpha1.Installation) bool {
			return inst.Status.Phase == v1alpha1.PhaseFailed && inst.Annotations[v1alpha1.OperationAnnotation] == ""
		})
	}
	s.install("root", deep(3, mockItem("stuck", "{}")))
	s.succeeded("root")
	s.RequireJobs(2, "root")
}

func TestC28InterruptReachesThoseThatWait(t *testing.T) {
	s := newScene(t)
	stuck := appender("a", "A")
	stuck["blueprint"] = inTemplate(object{"exports": dataExports("out"), "deployExecutions": goTemplate("deployItems:\n" + waitingItem("stuck"))})
	s.install("root", landscapeOf(stuck, appender("b", "B", "a"), appender("c", "C", "b"), appender("d", "D", "c")))
	require.Eventually(t, func() bool { return len(s.deployItems(v1alpha1.PhaseProgressing)) == 1 }, landscapePatience, tick)
	s.Annotate(s.Installation("root"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	s.failed("root")
	for _, name := range []string{"a", "b", "c", "d"} {
		assert.Equal(t, v1alpha1.PhaseFailed, s.Child("root", name).Status.Phase, name)
	}
	s.install("root", chain())
	s.succeeded("root")
	assert.Equal(t, `"ABCD"`, s.value("result"))
}

// deployItems returns the DeployItems of the scene in a phase.
func (s *scene) deployItems(phase v1alpha1.Phase) []v1alpha1.DeployItem {
	s.T.Helper()
	all := &v1alpha1.DeployItemList{}
	require.NoError(s.T, s.Client().List(s.Ctx, all, client.InNamespace(s.Namespace)))
	var found []v1alpha1.DeployItem
	for _, item := range all.Items {
		if item.Status.Phase == phase {
			found = append(found, item)
		}
	}
	return found
}

func TestAFailedDeletionOfATreeIsRepaired(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.data("base", "cm")
	s.install("root", named("names", namer("one", "base", "-x"), namer("two", "one", "-x")))
	s.succeeded("root")
	target := s.Child("root", "two")
	copies := &v1alpha1.TargetList{}
	require.NoError(t, s.Client().List(s.Ctx, copies, client.InNamespace(s.Namespace),
		client.MatchingLabels{v1alpha1.DataObjectContextLabel: "Inst.root"}))
	require.Len(t, copies.Items, 1)
	lost := copies.Items[0].DeepCopy()
	s.Delete(lost)
	letGo := s.hold("cm-x")
	s.Delete(s.Installation("root"))
	s.AwaitState(target.Name, func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	s.Annotate(s.Installation("root"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	s.Ended("root", v1alpha1.PhaseDeleteFailed)

	letGo()
	lost.ResourceVersion, lost.UID = "", ""
	require.NoError(t, s.Client().Create(s.Ctx, lost))
	s.reconcile("root")
	s.Gone(s.Installation("root"), s.config("cm"), s.config("cm-x"))
}

// TestAKilledControllerLosesNothing runs alone: it kills the controller that all tests share.
func TestAKilledControllerLosesNothing(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	s.Target("cluster")
	s.data("base", "cm")
	s.install("root", named("names", namer("one", "base", "-x"), namer("two", "one", "-x"), namer("three", "two", "-x")))
	for _, name := range []string{"one", "two", "three"} {
		require.Eventually(t, func() bool {
			child := s.Child("root", name)
			return child != nil && child.Status.JobID != "" && child.Status.Phase != v1alpha1.PhaseInit
		}, landscapePatience, tick)
		require.NoError(t, s.Processes[landscape.Controller].Kill9())
		require.NoError(t, s.Processes[landscape.Controller].Restart())
	}
	s.succeeded("root")
	assert.ElementsMatch(t, []string{"cm", "cm-x", "cm-x-x"}, keys(s.configs()))
	assert.JSONEq(t, `["base=cm","one=cm-x","three=cm-x-x-x","two=cm-x-x"]`, s.value("names"))
	s.RequireJobs(1, "root")
	s.requireOneJobEach("root", "one", "two", "three")

	s.Delete(s.Installation("root"))
	require.Eventually(t, func() bool { return len(s.Witness.Gone(s.Namespace)) >= 1 }, landscapePatience, tick)
	require.NoError(t, s.Processes[landscape.Controller].Kill9())
	require.NoError(t, s.Processes[landscape.Controller].Restart())
	s.Gone(s.Installation("root"))
	assert.Equal(t, []string{"three", "two", "one", "root"}, s.goneInOrder(4))
}
