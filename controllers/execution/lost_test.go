// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestLostItem(t *testing.T) {
	of := func(name string) *v1alpha1.DeployItem {
		item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.ExecutionManagedNameLabel: name}}}
		item.Status.JobID = "job"
		return item
	}
	wiped := of("b")
	wiped.Status, wiped.Finalizers = v1alpha1.DeployItemStatus{}, []string{v1alpha1.Finalizer}
	going, now := of("b"), metav1.Now()
	going.DeletionTimestamp = &now
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Execution)
		items  []*v1alpha1.DeployItem
		want   string
	}{
		"all are there":           {items: []*v1alpha1.DeployItem{of("a"), of("b")}},
		"one is gone":             {items: []*v1alpha1.DeployItem{of("a")}, want: "b"},
		"one is going":            {items: []*v1alpha1.DeployItem{of("a"), going}, want: "b"},
		"one has no status":       {items: []*v1alpha1.DeployItem{of("a"), wiped}, want: "b"},
		"a job is running":        {change: func(e *v1alpha1.Execution) { e.Status.JobID = "next" }},
		"the last job has failed": {change: func(e *v1alpha1.Execution) { e.Status.Phase = v1alpha1.PhaseFailed }},
		"the spec is newer":       {change: func(e *v1alpha1.Execution) { e.Generation++ }},
		"it never had a job":      {change: func(e *v1alpha1.Execution) { e.Status = v1alpha1.ExecutionStatus{} }},
	} {
		t.Run(name, func(t *testing.T) {
			execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
			execution.Status.ObservedGeneration = 1
			execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.Phase = "job", "job", v1alpha1.PhaseSucceeded
			if tc.change != nil {
				tc.change(execution)
			}
			name, _ := lostItem(execution, []v1alpha1.DeployItemTemplate{{Name: "a"}, {Name: "b"}}, tc.items)
			assert.Equal(t, tc.want, name)
		})
	}
}

func TestALostItemIsShownOnceUntilAJobMakesItAnew(t *testing.T) {
	b := newBench(t, template("a", "x"), template("b", "x"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.end("b", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseSucceeded)

	lost := b.item("a")
	lost.Finalizers = nil
	require.NoError(t, b.api.Update(t.Context(), lost))
	require.NoError(t, b.api.Delete(t.Context(), lost))
	b.settle()
	b.requirePhase(v1alpha1.PhaseSucceeded)
	ready := conditions.Get(b.execution(), meta.ReadyCondition)
	assert.Equal(t, metav1.ConditionFalse, ready.Status)
	assert.Equal(t, protocol.ReasonChildLost, ready.Reason)
	assert.Contains(t, ready.Message, "deploy item a of execution one was deleted")
	b.writes = nil
	b.settle()
	assert.Empty(t, b.writes)

	b.start("2")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.end("b", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseSucceeded)
	assert.True(t, conditions.IsTrue(b.execution(), meta.ReadyCondition))
}

// TestAnItemWithoutItsStatusIsShownUntilAJobRecordsItAnew has somebody replace the status of a DeployItem by nothing. Its deployer is started again by
// the next job, and only then does the item know what it has deployed.
func TestAnItemWithoutItsStatusIsShownUntilAJobRecordsItAnew(t *testing.T) {
	b := newBench(t, template("a", "x"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseSucceeded)

	b.deploy("a", func(item *v1alpha1.DeployItem) { item.Status = v1alpha1.DeployItemStatus{} })
	b.settle()
	ready := conditions.Get(b.execution(), meta.ReadyCondition)
	assert.Equal(t, metav1.ConditionFalse, ready.Status)
	assert.Equal(t, protocol.ReasonChildLost, ready.Reason)
	assert.Contains(t, ready.Message, "deploy item a of execution one has lost its status")
	b.requireSteady()

	b.start("2")
	require.Equal(t, "2", b.item("a").Status.JobID)
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseSucceeded)
	assert.True(t, conditions.IsTrue(b.execution(), meta.ReadyCondition))
}
