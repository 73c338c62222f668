// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// noExecutions keeps Executions from being created.
func (s *stage) noExecutions() *corev1.ResourceQuota {
	s.t.Helper()
	none := corev1.ResourceList{"count/executions.landscaper.gardener.cloud": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: s.named("none"), Spec: corev1.ResourceQuotaSpec{Hard: none}}
	s.create(quota)
	editStatus(s, quota, func(quota *corev1.ResourceQuota) { quota.Status.Hard, quota.Status.Used = none, none })
	return quota
}

func TestE01ARefusedExecutionIsNotTriedInALoop(t *testing.T) {
	s := newStage(t)
	quota := s.noExecutions()
	s.create(fixture.Following(s.leaf("leaf", "a")))
	refused := func(inst *v1alpha1.Installation) bool {
		return inst.Status.LastError != nil && strings.Contains(inst.Status.LastError.Message, "exceeded quota")
	}
	s.installation("leaf", refused)
	s.quiet()
	require.NoError(t, s.client.Delete(s.ctx, quota))
	s.finish(s.execution("leaf", ""), v1alpha1.PhaseSucceeded)
	done := s.ended("leaf", "", v1alpha1.PhaseSucceeded)
	assert.Equal(t, 1, s.seen.jobs(s, done))
}

func TestE01AnImportThatCannotBePublishedFailsTheJob(t *testing.T) {
	s := newStage(t)
	name := "an-import-with-a-name-that-is-much-longer-than-the-value-of-any-label"
	inst := fixture.Following(s.leaf("leaf", "a"))
	inst.Spec.Blueprint = fixture.InlineBlueprint(object{
		"imports":          []any{object{"name": name, "type": "data", "schema": object{}}},
		"deployExecutions": deploying("a"),
	})
	inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: name, DataRef: "value"}}
	s.create(&v1alpha1.DataObject{ObjectMeta: s.named("value"), Data: v1alpha1.NewAnyJSON([]byte("1"))}, inst)
	failed := s.ended("leaf", "", v1alpha1.PhaseFailed)
	assert.Contains(t, failed.Status.LastError.Codes, v1alpha1.ErrorConfigurationProblem)
	s.quiet()
	assert.Equal(t, 1, s.seen.jobs(s, failed))
}

func TestE03AnInterruptedJobWithANewSpecIsFollowedByOneOther(t *testing.T) {
	s := newStage(t)
	s.noExecutions()
	s.create(fixture.Following(s.leaf("leaf", "a")))
	running := s.installation("leaf", func(inst *v1alpha1.Installation) bool { return inst.Status.LastError != nil })
	edit(s, running, func(inst *v1alpha1.Installation) {
		inst.Spec.Blueprint = s.leaf("leaf", "b").Spec.Blueprint
		inst.Annotations[v1alpha1.OperationAnnotation] = v1alpha1.OperationInterrupt
	})
	next := s.installation("leaf", func(inst *v1alpha1.Installation) bool {
		return inst.Annotations[v1alpha1.OperationAnnotation] == "" && !inst.Status.IsIdle() && inst.Status.ObservedGeneration == inst.Generation
	})
	s.quiet()
	now := s.installation("leaf", func(*v1alpha1.Installation) bool { return true })
	assert.Equal(t, next.Status.JobID, now.Status.JobID)
	assert.Equal(t, 2, s.seen.jobs(s, now))
}

// failDeletion ends the deletion of an Execution badly, as its controller does under the job of the Installation.
func (s *stage) failDeletion(execution *v1alpha1.Execution, job string) {
	s.t.Helper()
	editStatus(s, execution, func(execution *v1alpha1.Execution) {
		execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.Phase = job, job, v1alpha1.PhaseDeleteFailed
		execution.Status.LastError = &v1alpha1.Error{
			Operation: "Delete", Reason: "Unreachable", Message: "no way to the cluster", LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now(),
		}
	})
}

// parentOf returns an Installation with one sub-installation that has one deploy item with a text in its configuration.
func (s *stage) parentOf(name, text string) *v1alpha1.Installation {
	child := object{"name": "child", "blueprint": object{"filesystem": object{"blueprint.yaml": fixture.JSONOf(object{
		"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint", "deployExecutions": deploying(text),
	})}}}
	return &v1alpha1.Installation{ObjectMeta: s.named(name), Spec: v1alpha1.InstallationSpec{
		Blueprint: fixture.InlineBlueprint(object{"subinstallations": []any{child}}),
	}}
}

// child waits for the only sub-installation of an Installation.
func (s *stage) child(parent string) *v1alpha1.Installation {
	s.t.Helper()
	list := &v1alpha1.InstallationList{}
	require.Eventually(s.t, func() bool {
		labels := client.MatchingLabels{v1alpha1.EncompassedByLabel: parent}
		return s.client.List(s.ctx, list, client.InNamespace(s.namespace), labels) == nil && len(list.Items) == 1
	}, patience, tick)
	return &list.Items[0]
}

func TestE02AFailedDeletionOfASubinstallationWaitsForTheNextRequest(t *testing.T) {
	s := newStage(t)
	s.create(fixture.Following(s.parentOf("root", "a")))
	child := s.child("root")
	s.succeed(child.Name, "")
	root := s.ended("root", "", v1alpha1.PhaseSucceeded)

	require.NoError(t, s.client.Delete(s.ctx, root))
	deleting := s.installation(child.Name, func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	execution := until(s, &v1alpha1.Execution{ObjectMeta: s.named(child.Name)}, func(execution *v1alpha1.Execution) bool {
		return !execution.DeletionTimestamp.IsZero()
	})
	s.failDeletion(execution, deleting.Status.JobID)
	root = s.ended("root", root.Status.JobID, v1alpha1.PhaseDeleteFailed)
	s.quiet()
	failed := s.installation(child.Name, func(inst *v1alpha1.Installation) bool { return inst.Status.IsIdle() })
	assert.Equal(t, deleting.Status.JobID, failed.Status.JobIDFinished)
	assert.Equal(t, root.Status.JobID, failed.Status.JobIDFinished)

	s.annotate("root", v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	again := s.installation(child.Name, func(inst *v1alpha1.Installation) bool { return !inst.Status.IsIdle() })
	s.failDeletion(execution, again.Status.JobID)
	root = s.ended("root", root.Status.JobID, v1alpha1.PhaseDeleteFailed)
	assert.Equal(t, again.Status.JobID, root.Status.JobID)
	s.quiet()
}

func TestE11AnExecutionThatGoesDuringAJobIsMadeAgain(t *testing.T) {
	s := newStage(t)
	inst := fixture.Following(s.parentOf("root", "a"))
	files := object{}
	require.NoError(t, unmarshalBlueprint(inst, &files))
	files["deployExecutions"] = deploying("own")
	inst.Spec.Blueprint = fixture.InlineBlueprint(files)
	s.create(inst)
	first := s.execution("root", "")
	s.finish(first, v1alpha1.PhaseSucceeded)
	child := s.child("root")
	s.execution(child.Name, "")
	s.installation("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })

	require.NoError(t, s.client.Delete(s.ctx, first))
	edit(s, first, func(execution *v1alpha1.Execution) { execution.Finalizers = nil })
	again := until(s, &v1alpha1.Execution{ObjectMeta: s.named("root")}, func(e *v1alpha1.Execution) bool { return e.UID != first.UID })
	s.finish(s.execution(child.Name, ""), v1alpha1.PhaseSucceeded)
	s.quiet()
	s.installation("root", func(inst *v1alpha1.Installation) bool { return !inst.Status.IsIdle() })
	s.finish(again, v1alpha1.PhaseSucceeded)
	done := s.ended("root", "", v1alpha1.PhaseSucceeded)
	assert.Equal(t, 1, s.seen.jobs(s, done))
}

func TestAFailedDeletionGoesOnWhenWhatHeldItIsGone(t *testing.T) {
	s := newStage(t)
	s.create(fixture.Following(s.parentOf("root", "a")))
	child := s.child("root")
	s.finish(s.execution(child.Name, ""), v1alpha1.PhaseSucceeded)
	root := s.ended("root", "", v1alpha1.PhaseSucceeded)
	require.NoError(t, s.client.Delete(s.ctx, root))
	deleting := s.installation(child.Name, func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	execution := &v1alpha1.Execution{ObjectMeta: s.named(child.Name)}
	s.failDeletion(execution, deleting.Status.JobID)
	s.ended("root", root.Status.JobID, v1alpha1.PhaseDeleteFailed)
	s.quiet()

	until(s, execution, func(execution *v1alpha1.Execution) bool { return !execution.DeletionTimestamp.IsZero() })
	edit(s, execution, func(execution *v1alpha1.Execution) { execution.Finalizers = nil })
	for _, gone := range []string{child.Name, "root"} {
		require.Eventually(t, func() bool {
			return apierrors.IsNotFound(s.client.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: gone}, &v1alpha1.Installation{}))
		}, patience, tick, gone)
	}
}

func TestE12AFailedDeletionOfARootIsNotTriedAgainByItself(t *testing.T) {
	s := newStage(t)
	s.create(fixture.Following(s.leaf("leaf", "a")))
	s.annotate("leaf", "reconcile.fluxcd.io/requestedAt", "once")
	leaf := s.succeed("leaf", "")
	if leaf.Status.LastHandledReconcileAt != "once" {
		leaf = s.succeed("leaf", leaf.Status.JobID)
	}
	require.Equal(t, "once", leaf.Status.LastHandledReconcileAt)
	edit(s, leaf, func(inst *v1alpha1.Installation) { delete(inst.Annotations, "reconcile.fluxcd.io/requestedAt") })
	require.NoError(t, s.client.Delete(s.ctx, leaf))
	deleting := s.installation("leaf", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	execution := &v1alpha1.Execution{ObjectMeta: s.named("leaf")}
	s.failDeletion(execution, deleting.Status.JobID)
	s.ended("leaf", leaf.Status.JobID, v1alpha1.PhaseDeleteFailed)
	s.quiet()
	failed := s.installation("leaf", func(*v1alpha1.Installation) bool { return true })
	assert.Equal(t, deleting.Status.JobID, failed.Status.JobID)
}

// holdBack returns a producer that is at work until its Execution is ended, and a consumer of what it exports.
func (s *stage) holdBack() (producer, consumer *v1alpha1.Installation) {
	producer, consumer = fixture.Following(s.leaf("producer", "a")), fixture.Following(s.leaf("consumer", "a"))
	producer.Spec.Blueprint = exporting("{out: 1, other: 1}")
	producer.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "out", DataRef: "flow"}, {Name: "other", DataRef: "other"}}
	consumer.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: "flow"}}
	return producer, consumer
}

// exporting is a blueprint with one deploy item that exports "out" and "other".
func exporting(values string) v1alpha1.BlueprintDefinition {
	return fixture.InlineBlueprint(object{
		"exports": []any{
			object{"name": "out", "type": "data", "schema": object{}}, object{"name": "other", "type": "data", "schema": object{}},
		},
		"deployExecutions": deploying("a"),
		"exportExecutions": []any{object{"name": "default", "type": "GoTemplate", "template": "exports: " + values}},
	})
}

func TestE20AWaitingJobTakesTheSpecThatItFindsAtTheEndOfTheWait(t *testing.T) {
	s := newStage(t)
	producer, consumer := s.holdBack()
	s.create(producer)
	execution := s.execution("producer", "")
	s.create(consumer)
	waiting := s.installation("consumer", func(inst *v1alpha1.Installation) bool { return !inst.Status.IsIdle() })
	edit(s, waiting, func(inst *v1alpha1.Installation) { deploy(inst, "b") })
	s.finish(execution, v1alpha1.PhaseSucceeded)
	done := s.succeed("consumer", "")
	assert.Equal(t, done.Generation, done.Status.ObservedGeneration)
	s.quiet()
	assert.Equal(t, 1, s.seen.jobs(s, s.installation("consumer", always)))
}

func TestE19AnEditOfTheImportsStartsNoJobByItself(t *testing.T) {
	s := newStage(t)
	producer, consumer := s.holdBack()
	s.create(producer)
	first := s.succeed("producer", "")
	delete(consumer.Annotations, v1alpha1.ReconcileIfChangedAnnotation)
	fixture.Operate(consumer)
	s.create(consumer)
	s.succeed("consumer", "")
	edit(s, consumer, func(inst *v1alpha1.Installation) {
		inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, v1alpha1.DataImport{Name: "more", DataRef: "other"})
	})
	s.quiet()
	assert.Equal(t, 1, s.seen.jobs(s, s.installation("consumer", always)))

	edit(s, producer, func(inst *v1alpha1.Installation) { inst.Spec.Blueprint = exporting("{out: 2, other: 1}") })
	s.succeed("producer", first.Status.JobID)
	s.succeed("consumer", consumer.Status.JobID)
}

func TestE21AnImportThatChangesDuringAJobCountsAsOneThatChangesAfterIt(t *testing.T) {
	for name, c := range map[string]struct {
		annotation string
		jobs       int
	}{
		"asked for":     {v1alpha1.ReconcileIfImportsChangedAnnotation, 2},
		"not asked for": {v1alpha1.ReconcileIfChangedAnnotation, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			value := &v1alpha1.DataObject{ObjectMeta: s.named("value"), Data: v1alpha1.NewAnyJSON([]byte("1"))}
			inst := s.leaf("leaf", "a")
			fixture.Operate(inst)
			inst.Annotations[c.annotation] = "true"
			inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: "value"}}
			s.create(value, inst)
			execution := s.execution("leaf", "")
			edit(s, value, func(value *v1alpha1.DataObject) { value.Data = v1alpha1.NewAnyJSON([]byte("2")) })
			s.finish(execution, v1alpha1.PhaseSucceeded)
			if c.jobs == 2 {
				s.succeed("leaf", execution.Status.JobID)
			}
			s.quiet()
			last := s.ended("leaf", "", v1alpha1.PhaseSucceeded)
			assert.Equal(t, c.jobs, s.seen.jobs(s, last))
		})
	}
}

func TestWhyWorkIsNotDoneIsShownAtTheRoot(t *testing.T) {
	s := newStage(t)
	s.create(fixture.Following(s.parentOf("root", "a")))
	child := s.child("root")
	execution := s.execution(child.Name, "")
	shows := func(cause protocol.Cause) {
		editStatus(s, execution, func(execution *v1alpha1.Execution) {
			execution.Status.JobID, execution.Status.Phase = givenJob(execution), v1alpha1.PhaseProgressing
			execution.Status.ObservedGeneration = execution.Generation
			protocol.ShowCause(execution, cause, "at work")
		})
	}
	requireShown := func(message string) int {
		t.Helper()
		s.installation("root", func(inst *v1alpha1.Installation) bool {
			return conditions.GetMessage(inst, meta.ReadyCondition) == message && conditions.GetMessage(inst, meta.ReconcilingCondition) == message
		})
		s.quiet()
		return len(s.seen.of(s, s.installation("root", always)))
	}
	fails := func(cause string) { shows(protocol.Cause{Reason: meta.ProgressingWithRetryReason, Message: cause}) }
	fails("no route")
	first := requireShown(child.Name + ": no route")
	fails("no right")
	assert.Equal(t, first+1, requireShown(child.Name+": no right"))
	shows(protocol.Cause{Reason: protocol.ReasonAgentUnreachable, Message: "no agent"})
	assert.Equal(t, first+2, requireShown(child.Name+": no agent"))
	assert.Equal(t, protocol.ReasonAgentUnreachable, conditions.GetReason(s.installation("root", always), meta.ReadyCondition))
	shows(protocol.Cause{})
	assert.Equal(t, first+3, requireShown(workingMessage))
}

// TestAnOperationThatCannotBeTakenAwayEndsTheJobOnce has annotations that are together as large as the API server takes: the one that would replace
// the operation is longer.
func TestAnOperationThatCannotBeTakenAwayEndsTheJobOnce(t *testing.T) {
	const largest = 256 << 10
	s := newStage(t)
	inst := s.leaf("root", "a")
	inst.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}
	inst.Annotations["filler"] = strings.Repeat("x", largest-len("filler")-len(v1alpha1.OperationAnnotation)-len(v1alpha1.OperationReconcile))
	s.create(inst)
	failed := s.ended("root", "", v1alpha1.PhaseFailed)
	assert.Contains(t, failed.Status.LastError.Message, "annotations")
	s.quiet()
	assert.Equal(t, failed.Status.JobID, s.ended("root", "", v1alpha1.PhaseFailed).Status.JobID)
}
