// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// appender is a sub-installation that appends its letter to what it imports; several imports are joined as (A|B|C).
func appender(name, letter string, imports ...string) object {
	var joined []string
	for _, imported := range imports {
		joined = append(joined, fmt.Sprintf("{{ .imports.%s }}", imported))
	}
	in := strings.Join(joined, "|")
	if len(joined) > 1 {
		in = "(" + in + ")"
	}
	return object{
		"name": name,
		"blueprint": inTemplate(object{
			"imports": dataImports(imports...), "exports": dataExports("out"),
			"deployExecutions": goTemplate("deployItems:\n" + mockItem("letter", "{letter: "+letter+"}")),
			"exportExecutions": goTemplate("exports: {out: '" + in + "{{ .values.deployitems.letter.letter }}'}"),
		}),
		"imports": object{"data": refs(imports...)},
		"exports": object{"data": list{object{"name": "out", "dataRef": name}}},
	}
}

// landscapeOf is the spec of a root that exports what the sub-installation d exports.
func landscapeOf(subs ...any) object {
	return object{
		"blueprint": inline(object{
			"subinstallations": subs, "exports": dataExports("result"),
			"exportExecutions": goTemplate("exports: {result: '{{ .dataobjects.d }}'}"),
		}),
		"exports": object{"data": refs("result")},
	}
}

func chain() object {
	return landscapeOf(appender("a", "A"), appender("b", "B", "a"), appender("c", "C", "b"), appender("d", "D", "c"))
}

func TestB301ChainOfFour(t *testing.T) {
	s := newScene(t)
	s.install("root", chain())
	s.succeeded("root")
	assert.Equal(t, `"ABCD"`, s.value("result"))
	s.RequireJobs(1, "root")
	s.requireOneJobEach("root", "a", "b", "c", "d")
	assert.Equal(t, []string{"a", "b", "c", "d", "root"}, s.finishedInOrder())
}

// requireOneJobEach checks that each sub-installation ran the jobs of its parent and no others.
func (s *scene) requireOneJobEach(parent string, templates ...string) {
	s.T.Helper()
	for _, template := range templates {
		child := s.Child(parent, template)
		require.NotNil(s.T, child, template)
		assert.Equal(s.T, s.Witness.Jobs(s.Namespace, parent), s.Witness.Jobs(s.Namespace, child.Name), "jobs of %s", template)
	}
}

// finishedInOrder returns template names, or names of roots, in the order in which they ended well first.
func (s *scene) finishedInOrder() []string {
	var names []string
	for _, state := range s.Witness.States(s.Namespace) {
		name := state.Annotations[v1alpha1.SubinstallationNameAnnotation]
		if name == "" {
			name = state.Name
		}
		if state.Status.Phase == v1alpha1.PhaseSucceeded && state.Status.IsIdle() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func TestE06ProducersAreCreatedBeforeTheirConsumers(t *testing.T) {
	s := newScene(t)
	var subs list
	for i := range 8 {
		subs = append(subs, appender(fmt.Sprintf("c%d", i), "C", "d"))
	}
	s.install("root", landscapeOf(append(subs, appender("d", "D"))...))
	s.succeeded("root")
	var created []string
	for _, state := range s.Witness.States(s.Namespace) {
		if name := state.Annotations[v1alpha1.SubinstallationNameAnnotation]; name != "" && !slices.Contains(created, name) {
			created = append(created, name)
		}
	}
	require.Len(t, created, 9)
	assert.Equal(t, "d", created[0])
	s.RequireJobs(1, "root")
}

func TestB302UpdateOfAChainToAJoin(t *testing.T) {
	s := newScene(t)
	s.install("root", chain())
	s.succeeded("root")
	s.install("root", landscapeOf(appender("a", "A"), appender("b", "B"), appender("c", "C"), appender("d", "D", "a", "b", "c")))
	s.succeeded("root")
	assert.Equal(t, `"(A|B|C)D"`, s.value("result"))
	s.RequireJobs(2, "root")
	s.requireOneJobEach("root", "a", "b", "c", "d")
}

func TestB303ToB304CycleAndExportConflict(t *testing.T) {
	s := newScene(t)
	s.install("root", landscapeOf(appender("a", "A"), appender("b", "B", "a", "d"), appender("c", "C", "b"), appender("d", "D", "c")))
	problem := s.failed("root")
	assert.Contains(t, problem.Codes, v1alpha1.ErrorCyclicDependencies)
	assert.Contains(t, problem.Message, "b → d → c → b")
	assert.Nil(t, s.Child("root", "a"), "nothing is created from a blueprint with a cycle")

	s.install("root", chain())
	s.succeeded("root")
	assert.Equal(t, `"ABCD"`, s.value("result"))

	twin := appender("twin", "T")
	twin["exports"] = object{"data": list{object{"name": "out", "dataRef": "d"}}}
	s.install("root", landscapeOf(appender("d", "D"), twin))
	assert.Contains(t, s.failed("root").Message, `data export "d" is also exported by sub-installation "d"`)
	assert.Equal(t, `"ABCD"`, s.value("result"), "a failed job leaves the exports as they are")
}

func TestAFailedSubinstallationFailsItsSuccessorsAndItsParent(t *testing.T) {
	s := newScene(t)
	broken := appender("b", "B", "a")
	broken["blueprint"] = inTemplate(object{
		"imports": dataImports("a"), "exports": dataExports("out"),
		"deployExecutions": goTemplate("deployItems:\n" + strings.Replace(mockItem("letter", "{}"), "export: {}", "phase: Failed", 1)),
	})
	s.install("root", landscapeOf(appender("a", "A"), broken, appender("c", "C", "b"), appender("d", "D", "c")))
	problem := s.failed("root")
	assert.Contains(t, problem.Message, "asks for the phase Failed")
	assert.Equal(t, v1alpha1.PhaseSucceeded, s.Child("root", "a").Status.Phase)
	assert.Equal(t, "PredecessorFailed", s.Child("root", "c").Status.LastError.Reason)
	assert.False(t, s.exists(s.dataObject("result")))

	s.install("root", chain())
	s.succeeded("root")
	assert.Equal(t, `"ABCD"`, s.value("result"))
}

func TestA19DeletionInReverseOrder(t *testing.T) {
	s := newScene(t)
	s.install("root", chain())
	s.succeeded("root")
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"), s.dataObject("result"))
	assert.Equal(t, []string{"d", "c", "b", "a", "root"}, s.goneInOrder(5))
	require.Eventually(t, func() bool { return len(s.objectsOf()) == 0 }, landscapePatience, tick, "%v", s.objectsOf())
}

// goneInOrder waits until as many Installations are gone and returns template names, or names of roots, in that order.
func (s *scene) goneInOrder(count int) []string {
	s.T.Helper()
	require.Eventually(s.T, func() bool { return len(s.Witness.Gone(s.Namespace)) >= count }, landscapePatience, tick)
	var names []string
	for _, inst := range s.Witness.Gone(s.Namespace) {
		name := inst.Annotations[v1alpha1.SubinstallationNameAnnotation]
		if name == "" {
			name = inst.Name
		}
		names = append(names, name)
	}
	return names
}
