// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// stuckChain is the chain with an item in a that ends by its timeout only.
func stuckChain(timeout string) list {
	stuck := appender("a", "A")
	stuck["blueprint"] = inTemplate(object{
		"exports":          dataExports("out"),
		"deployExecutions": goTemplate("deployItems:\n" + landscape.MockItem("stuck", "phase: Progressing") + "  timeout: " + timeout + "\n"),
	})
	return list{stuck, appender("b", "B", "a"), appender("c", "C", "b"), appender("d", "D", "c")}
}

// deleteWhileItRuns deletes the sub-installation a of a parent while its item is at work.
func (s *scene) deleteWhileItRuns(parent func() string) *v1alpha1.Installation {
	s.T.Helper()
	require.Eventually(s.T, func() bool { return len(s.deployItems(v1alpha1.PhaseProgressing)) == 1 }, landscapePatience, tick)
	child := s.Child(parent(), "a")
	require.NotNil(s.T, child)
	s.Delete(child)
	return child
}

func TestASubinstallationDeletedWhileItRunsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*scene, *v1alpha1.Installation){
		"the job fails at once and the next one makes it anew": func(s *scene, child *v1alpha1.Installation) {
			problem := s.failed("root")
			assert.Contains(t, problem.Message, child.Name+": it is being deleted and cannot end the job")
			assert.Equal(t, "PredecessorFailed", s.Child("root", "b").Status.LastError.Reason)
			s.install("root", chain())
			s.succeeded("root")
			assert.Equal(t, `"ABCD"`, s.value("result"))
		},
		"the root goes at the same time": func(s *scene, _ *v1alpha1.Installation) {
			s.Delete(s.Installation("root"))
			s.Gone(s.Installation("root"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.install("root", landscapeOf(stuckChain("8s")...))
			end(s, s.deleteWhileItRuns(func() string { return "root" }))
		})
	}
}

func TestASubinstallationDeletedWhileItRunsFailsTheWholeTree(t *testing.T) {
	s := newScene(t)
	middle := object{"name": "middle", "blueprint": inTemplate(object{"subinstallations": stuckChain("8s")})}
	s.install("root", object{"blueprint": inline(object{"subinstallations": list{middle}})})
	child := s.deleteWhileItRuns(func() string { return s.Child("root", "middle").Name })
	problem := s.failed("root")
	assert.Contains(t, problem.Message, child.Name+": it is being deleted and cannot end the job")
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"))
	require.Eventually(t, func() bool { return len(s.objectsOf()) == 0 }, landscapePatience, tick, "%v", s.objectsOf())
}

// chainBeside is the chain beside a sub-installation whose item ends by an interruption only.
func chainBeside() list {
	stuck := object{"name": "stuck", "blueprint": inTemplate(object{"deployExecutions": goTemplate("deployItems:\n" + waitingItem("stuck"))})}
	return list{stuck, appender("a", "A"), appender("b", "B", "a"), appender("c", "C", "b"), appender("d", "D", "c")}
}

func TestASubinstallationThatLosesItsJobWhileTheRootRunsGetsItAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*v1alpha1.InstallationStatus){
		"its status":       func(status *v1alpha1.InstallationStatus) { *status = v1alpha1.InstallationStatus{} },
		"it names another": func(status *v1alpha1.InstallationStatus) { status.JobID, status.JobIDFinished = "another", "another" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.install("root", chain())
			former := s.succeeded("root").Status.JobID
			s.install("root", landscapeOf(chainBeside()...))
			require.Eventually(t, func() bool { return len(s.deployItems(v1alpha1.PhaseProgressing)) == 1 }, landscapePatience, tick)
			require.Eventually(t, func() bool {
				last := s.Child("root", "d")
				return last.Status.JobIDFinished != former && last.Status.IsIdle()
			}, landscapePatience, tick)
			child := s.Child("root", "a")
			base := child.DeepCopy()
			lose(&child.Status)
			require.NoError(t, s.Client().Status().Patch(s.Ctx, child, client.MergeFrom(base)))

			job := s.Child("root", "d").Status.JobIDFinished
			require.Eventually(t, func() bool { return s.Child("root", "a").Status.JobIDFinished == job }, landscapePatience, tick)
			s.Annotate(s.Installation("root"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
			s.Ended("root", v1alpha1.PhaseFailed)
			s.install("root", chain())
			s.succeeded("root")
			assert.Equal(t, `"ABCD"`, s.value("result"))
		})
	}
}
