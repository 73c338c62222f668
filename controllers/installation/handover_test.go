// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// TestAnInterruptionEndsOneJobOnly plays an Execution that dies between the end of an interrupted job and the write that takes the operation away.
func TestAnInterruptionEndsOneJobOnly(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Installation){
		"the Execution stays as it is": func(inst *v1alpha1.Installation) {
			metav1.SetMetaDataAnnotation(&inst.ObjectMeta, v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
		},
		"the Execution gets a new spec": func(inst *v1alpha1.Installation) {
			inst.Spec.Blueprint = fixture.InlineBlueprint(object{"deployExecutions": deploying("newer")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.create(fixture.Following(s.leaf("root", "former")))
			execution := s.execution("root", "")
			s.installation("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })
			s.annotate("root", v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
			until(s, execution, func(execution *v1alpha1.Execution) bool {
				return execution.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt
			})
			first := s.finish(execution, v1alpha1.PhaseFailed)
			s.ended("root", "", v1alpha1.PhaseFailed)

			edit(s, &v1alpha1.Installation{ObjectMeta: s.named("root")}, change)
			next := s.execution("root", first)
			assert.NotContains(t, next.Annotations, v1alpha1.OperationAnnotation, "the interruption was for the former job")
		})
	}
}

// TestAnInterruptThatFluxKeepsEndsTheRunningJobOnly applies the operation as Flux does, which would put it back at every sync.
func TestAnInterruptThatFluxKeepsEndsTheRunningJobOnly(t *testing.T) {
	s := newStage(t)
	s.create(fixture.Following(s.leaf("root", "former")))
	execution := s.execution("root", "")
	root := s.installation("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })
	applied := fmt.Sprintf(`{"apiVersion": %q, "kind": "Installation", "metadata": {"name": "root", "annotations": {%q: %q}}}`,
		v1alpha1.GroupVersion, v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	require.NoError(t, s.client.Patch(s.ctx, root, client.RawPatch(types.ApplyPatchType, []byte(applied)), client.FieldOwner("kustomize-controller"), client.ForceOwnership))
	until(s, execution, func(execution *v1alpha1.Execution) bool {
		return execution.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt
	})

	first := s.finish(execution, v1alpha1.PhaseFailed)

	ended := s.ended("root", "", v1alpha1.PhaseFailed)
	assert.Equal(t, v1alpha1.OperationInterrupt, ended.Annotations[v1alpha1.OperationAnnotation], "Flux would put it back")
	assert.Equal(t, protocol.ReasonInterruptInGit, conditions.GetReason(ended, protocol.OperationInGitCondition))

	edit(s, &v1alpha1.Installation{ObjectMeta: s.named("root")}, func(inst *v1alpha1.Installation) {
		inst.Spec.Blueprint = fixture.InlineBlueprint(object{"deployExecutions": deploying("newer")})
	})
	next := s.execution("root", first)
	editStatus(s, next, func(execution *v1alpha1.Execution) {
		execution.Status.JobID, execution.Status.Phase, execution.Status.ObservedGeneration = givenJob(execution), v1alpha1.PhaseProgressing, execution.Generation
		conditions.MarkReconciling(execution, meta.ProgressingWithRetryReason, "the target rests")
	})
	s.installation("root", func(inst *v1alpha1.Installation) bool { return protocol.CauseOf(inst).Message == "the target rests" })
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(next), next))
	assert.NotContains(t, next.Annotations, v1alpha1.OperationAnnotation, "the controller has looked at the next job, and goes on")
	s.finish(next, v1alpha1.PhaseSucceeded)
	s.ended("root", ended.Status.JobID, v1alpha1.PhaseSucceeded)
}

// TestAnInterruptedChildEndsBeforeTheNextJob plays an Installation that was interrupted before all children had its job: it has ended, and its Execution
// has not.
func TestAnInterruptedChildEndsBeforeTheNextJob(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Installation){
		"the Execution stays as it is": func(inst *v1alpha1.Installation) {
			metav1.SetMetaDataAnnotation(&inst.ObjectMeta, v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
		},
		"the Execution gets a new spec": func(inst *v1alpha1.Installation) {
			inst.Spec.Blueprint = fixture.InlineBlueprint(object{"deployExecutions": deploying("newer")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.create(fixture.Following(s.leaf("root", "former")))
			execution := s.execution("root", "")
			root := s.installation("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })
			editStatus(s, execution, func(execution *v1alpha1.Execution) {
				execution.Status.JobID, execution.Status.Phase = root.Status.JobID, v1alpha1.PhaseProgressing
				execution.Status.ObservedGeneration = execution.Generation
			})
			edit(s, execution, func(execution *v1alpha1.Execution) {
				metav1.SetMetaDataAnnotation(&execution.ObjectMeta, v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
			})
			editStatus(s, root, func(inst *v1alpha1.Installation) {
				inst.Status.JobIDFinished, inst.Status.Phase = inst.Status.JobID, v1alpha1.PhaseFailed
			})
			first := root.Status.JobID

			edit(s, &v1alpha1.Installation{ObjectMeta: s.named("root")}, change)
			s.installation("root", func(inst *v1alpha1.Installation) bool {
				return inst.Status.JobID != first && strings.Contains(conditions.GetMessage(inst, meta.ReadyCondition), "to end its interrupted job")
			})
			s.quiet()
			until(s, execution, func(execution *v1alpha1.Execution) bool { return givenJob(execution) == first })

			s.finish(execution, v1alpha1.PhaseFailed)
			next := s.execution("root", first)
			assert.NotContains(t, next.Annotations, v1alpha1.OperationAnnotation, "the interruption was for the former job")
		})
	}
}

func TestInterruptionsOfRunningJobsStay(t *testing.T) {
	for name, c := range map[string]struct {
		operation, job, finished string
		want                     bool
	}{
		"left behind":       {v1alpha1.OperationInterrupt, "a", "a", true},
		"of a running job":  {v1alpha1.OperationInterrupt, "b", "a", false},
		"another operation": {v1alpha1.OperationReconcile, "a", "a", false},
		"none":              {"", "a", "a", false},
	} {
		child := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.OperationAnnotation: c.operation}}}
		child.Status.JobID, child.Status.JobIDFinished = c.job, c.finished
		assert.Equal(t, c.want, jobs.IsInterruptedIdle(child), name)
	}
}

// TestAnInterruptionLeftBehindDoesNotEndTheNextDeletion plays an Execution that dies between the end of its interrupted deletion and the write that
// takes the operation away.
func TestAnInterruptionLeftBehindDoesNotEndTheNextDeletion(t *testing.T) {
	s := newStage(t)
	s.create(fixture.Following(s.leaf("root", "a")))
	root := s.succeed("root", "")
	require.NoError(t, s.client.Delete(s.ctx, root))
	execution := until(s, &v1alpha1.Execution{ObjectMeta: s.named("root")}, func(execution *v1alpha1.Execution) bool {
		return !execution.DeletionTimestamp.IsZero()
	})
	edit(s, execution, func(execution *v1alpha1.Execution) {
		metav1.SetMetaDataAnnotation(&execution.ObjectMeta, v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	})
	deleting := s.installation("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	s.failDeletion(execution, deleting.Status.JobID)
	s.ended("root", root.Status.JobID, v1alpha1.PhaseDeleteFailed)

	s.annotate("root", v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	s.installation("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(execution), execution))
	assert.NotContains(t, execution.Annotations, v1alpha1.OperationAnnotation)
}

// TestADeletionInTheForegroundEndsTheJobThatRuns plays the garbage collector, which deletes a sub-installation at once although its parent waits for the
// job that both still have.
func TestADeletionInTheForegroundEndsTheJobThatRuns(t *testing.T) {
	s := newStage(t)
	s.create(fixture.Following(s.parentOf("root", "a")))
	child := s.child("root")
	execution := s.execution(child.Name, "")
	s.installation("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })
	editStatus(s, execution, func(execution *v1alpha1.Execution) {
		execution.Status.JobID, execution.Status.Phase = givenJob(execution), v1alpha1.PhaseProgressing
		execution.Status.ObservedGeneration = execution.Generation
	})
	foreground := client.PropagationPolicy(metav1.DeletePropagationForeground)
	for _, object := range []client.Object{&v1alpha1.Installation{ObjectMeta: s.named("root")}, child, execution} {
		require.NoError(t, s.client.Delete(s.ctx, object, foreground))
	}
	s.quiet()
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(child), child))
	require.Equal(t, v1alpha1.PhaseProgressing, child.Status.Phase, "its Execution is still at work")

	s.finish(execution, v1alpha1.PhaseFailed)
	root := s.installation("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	below := s.installation(child.Name, func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	assert.Equal(t, root.Status.JobID, below.Status.JobID)
	s.quiet()
}

func TestADeletionSaysWhichJobItWaitsFor(t *testing.T) {
	s := newStage(t)
	s.create(fixture.Following(s.leaf("leaf", "a")))
	execution := s.execution("leaf", "")
	editStatus(s, execution, func(execution *v1alpha1.Execution) {
		execution.Status.JobID, execution.Status.Phase = givenJob(execution), v1alpha1.PhaseProgressing
		execution.Status.ObservedGeneration = execution.Generation
		protocol.Progress(execution, protocol.ReasonWaiting, "deploy item slow: ConfigMap default/waits is not ready")
	})
	leaf := s.installation("leaf", func(inst *v1alpha1.Installation) bool { return protocol.CauseOf(inst).Message != "" })
	require.NoError(t, s.client.Delete(s.ctx, leaf))
	leaf = s.installation("leaf", func(inst *v1alpha1.Installation) bool {
		return conditions.GetReason(inst, meta.ReadyCondition) == reasonAwaitsJob
	})
	assert.Equal(t, "deletion waits for the running job "+execution.Status.JobID+"; annotate landscaper.gardener.cloud/operation=interrupt to end it: "+
		"deploy item slow: ConfigMap default/waits is not ready", conditions.GetMessage(leaf, meta.ReadyCondition))
	s.quiet()

	s.finish(execution, v1alpha1.PhaseSucceeded)
	s.installation("leaf", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	s.quiet()
}
