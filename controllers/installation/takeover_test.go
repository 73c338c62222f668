// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// formerCondition is one that Gardener Landscaper wrote.
var formerCondition = metav1.Condition{Type: "ValidateImports", Status: "Progressing", Reason: "not finished"}

func TestE18StatusThatIsTakenOver(t *testing.T) {
	for name, tc := range map[string]struct {
		phase     v1alpha1.Phase
		finished  bool
		deleting  bool
		wantPhase v1alpha1.Phase
		wantReady metav1.ConditionStatus
		stalled   bool
	}{
		"succeeded":                       {phase: "Succeeded", finished: true, wantPhase: "Succeeded", wantReady: "True"},
		"failed":                          {phase: "Failed", finished: true, wantPhase: "Failed", wantReady: "False", stalled: true},
		"deletion failed":                 {phase: "DeleteFailed", finished: true, deleting: true, wantPhase: "DeleteFailed", wantReady: "False", stalled: true},
		"next job requested":              {phase: "Succeeded", wantPhase: "Succeeded"},
		"job at its beginning":            {phase: "Init", wantPhase: "Init", wantReady: "Unknown"},
		"children perhaps without job":    {phase: "ObjectsCreated", wantPhase: "Init", wantReady: "Unknown"},
		"orphans in deletion":             {phase: "CleanupOrphaned", wantPhase: "Init", wantReady: "Unknown"},
		"children at work":                {phase: "Progressing", wantPhase: "Init", wantReady: "Unknown"},
		"exports being written":           {phase: "Completing", wantPhase: "Init", wantReady: "Unknown"},
		"deletion of the children begins": {phase: "TriggerDelete", deleting: true, wantPhase: "TriggerDelete"},
		"deletion asked for during a job": {phase: "Progressing", deleting: true, wantPhase: "Progressing"},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "former"}}
			inst.Status.JobID, inst.Status.Phase = "job", tc.phase
			inst.Status.Conditions = []metav1.Condition{formerCondition}
			if tc.finished {
				inst.Status.JobIDFinished = "job"
			}
			if tc.deleting {
				inst.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}
			require.NoError(t, with(t).takeOver(t.Context(), newScope(inst, time.Unix(2, 0))))
			assert.Equal(t, tc.wantPhase, inst.Status.Phase)
			assert.Equal(t, "job", inst.Status.JobID)
			assert.False(t, conditions.Has(inst, formerCondition.Type))
			assert.Equal(t, tc.stalled, conditions.IsTrue(inst, meta.StalledCondition))
			ready := conditions.Get(inst, meta.ReadyCondition)
			if tc.wantReady == "" {
				assert.Nil(t, ready)
				return
			}
			require.NotNil(t, ready)
			assert.Equal(t, tc.wantReady, ready.Status)
		})
	}
}

func TestE18WhatSiblingsExportCountsAsConsumed(t *testing.T) {
	for name, tc := range map[string]struct {
		owed     []v1alpha1.DependentToTrigger
		consumed bool
	}{
		"consumed":         {nil, true},
		"others owed":      {[]v1alpha1.DependentToTrigger{{Name: "other"}}, true},
		"still to consume": {[]v1alpha1.DependentToTrigger{{Name: "other"}, {Name: "consumer"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			producer, consumer := fixture.Exporter("producer", "1", ""), fixture.Working("consumer", "2", "job")
			producer.Status.DependentsToTrigger = tc.owed
			consumer.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: "out"}}
			consumer.Status.Phase, consumer.Status.JobIDFinished = v1alpha1.PhaseSucceeded, "job"
			exported := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "out"}}
			r := with(t, producer, consumer, exported)
			require.NoError(t, r.takeOver(t.Context(), newScope(consumer, time.Unix(2, 0))))
			assert.Equal(t, tc.consumed, consumer.Status.ConsumedHash != "")
		})
	}
}

func TestOwnStatusesAreNotTakenOver(t *testing.T) {
	never := &v1alpha1.Installation{}
	own := &v1alpha1.Installation{}
	own.Status.JobID, own.Status.Phase = "job", v1alpha1.PhaseProgressing
	conditions.MarkUnknown(own, meta.ReadyCondition, meta.ProgressingReason, "at work")
	for name, inst := range map[string]*v1alpha1.Installation{"no job so far": never, "own job": own} {
		t.Run(name, func(t *testing.T) {
			before := inst.DeepCopy()
			require.NoError(t, with(t).takeOver(t.Context(), newScope(inst, time.Unix(2, 0))))
			assert.Equal(t, before, inst)
		})
	}
}
