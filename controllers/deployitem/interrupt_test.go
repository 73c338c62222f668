// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"errors"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// interrupting asks for the end of the running job.
func interrupting(item *v1alpha1.DeployItem) {
	metav1.SetMetaDataAnnotation(&item.ObjectMeta, v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
}

// inGit makes the operation one that Flux applies.
func inGit(item *v1alpha1.DeployItem) {
	item.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kustomize-controller", Operation: metav1.ManagedFieldsOperationApply, APIVersion: v1alpha1.GroupVersion.String(), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + v1alpha1.OperationAnnotation + `":{}}}}`),
	}}
}

func pickedUp(item *v1alpha1.DeployItem) {
	item.Status.Phase, item.Status.LastReconcileTime = v1alpha1.PhaseProgressing, &metav1.Time{Time: began}
}

func idle(item *v1alpha1.DeployItem) { item.Status.JobIDFinished = item.Status.JobID }

func inDeletion(item *v1alpha1.DeployItem) {
	item.Finalizers, item.DeletionTimestamp = []string{v1alpha1.Finalizer}, &metav1.Time{Time: began}
}

// guarded is the state of an item of which it was said that its operation is kept in Git.
func guarded(item *v1alpha1.DeployItem) {
	conditions.MarkTrue(item, protocol.OperationInGitCondition, protocol.ReasonInterruptInGit, "it is kept in Git")
}

// testGuarded is the same for the operation of the deployers.
func testGuarded(item *v1alpha1.DeployItem) {
	conditions.MarkTrue(item, protocol.OperationInGitCondition, protocol.ReasonLoopGuard, "it is kept in Git")
}

func TestWhatAnInterruptDoes(t *testing.T) {
	type change = func(*v1alpha1.DeployItem)
	controlled := func(item *v1alpha1.DeployItem) {
		item.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Execution", Name: "e", UID: "e", Controller: new(true),
		}}
	}
	ignored := func(item *v1alpha1.DeployItem) {
		metav1.SetMetaDataAnnotation(&item.ObjectMeta, v1alpha1.IgnoreAnnotation, "true")
	}
	for name, tc := range map[string]struct {
		item []change
		// ends is the phase in which the job ends; empty where it goes on, or there is none.
		ends v1alpha1.Phase
		// stays says that the operation is still there, shown that the status says that it is kept in Git.
		stays, shown bool
		// writes counts those of the status, events what is told.
		writes, events int
	}{
		"a running job ends":                           {item: []change{interrupting, pickedUp}, ends: v1alpha1.PhaseFailed, writes: 1, events: 1},
		"one that nobody has begun, too":               {item: []change{interrupting}, ends: v1alpha1.PhaseFailed, writes: 1, events: 1},
		"and one that uninstalls":                      {item: []change{interrupting, pickedUp, inDeletion}, ends: v1alpha1.PhaseDeleteFailed, writes: 1, events: 1},
		"without a job there is nothing to end":        {item: []change{interrupting, idle}},
		"one from Git ends the job that runs":          {item: []change{interrupting, pickedUp, inGit}, ends: v1alpha1.PhaseFailed, stays: true, shown: true, writes: 1, events: 2},
		"and no later one":                             {item: []change{interrupting, pickedUp, inGit, guarded}, stays: true, shown: true},
		"without a job it is told":                     {item: []change{interrupting, idle, inGit}, stays: true, shown: true, writes: 1, events: 1},
		"once":                                         {item: []change{interrupting, idle, inGit, guarded}, stays: true, shown: true},
		"one by hand after that ends the job":          {item: []change{interrupting, pickedUp, guarded}, ends: v1alpha1.PhaseFailed, writes: 1, events: 1},
		"and is forgotten without a job":               {item: []change{interrupting, idle, guarded}, writes: 1},
		"also in place of another operation":           {item: []change{interrupting, idle, inGit, testGuarded}, stays: true, shown: true, writes: 1, events: 1},
		"it is told until it leaves Git":               {item: []change{idle, guarded}, writes: 1},
		"the deployer tells of its own operation":      {item: []change{idle, testGuarded}},
		"an item of an Execution is the Execution's":   {item: []change{interrupting, pickedUp, controlled}, stays: true},
		"an item that is ignored is left as it is":     {item: []change{interrupting, pickedUp, ignored}, stays: true},
		"another operation is not that of this loop":   {item: []change{pickedUp}},
		"an item without a job is none of its concern": {item: []change{idle}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.item...)
			b.at(0)
			for range 3 {
				b.pass(t)
			}
			item := b.shown(t)
			if tc.ends != "" {
				assert.Equal(t, tc.ends, item.Status.Phase)
				assert.Equal(t, "job", item.Status.JobIDFinished)
				require.NotNil(t, item.Status.LastError)
				assert.Equal(t, "InterruptOperation", item.Status.LastError.Reason)
				assert.Equal(t, "InterruptOperation", item.Status.LastError.Operation)
				assert.Equal(t, "operation was interrupted", item.Status.LastError.Message)
			} else {
				assert.Equal(t, b.item.Status.JobIDFinished, item.Status.JobIDFinished)
			}
			assert.Equal(t, tc.stays, item.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt, "the operation")
			assert.Equal(t, tc.shown, conditions.GetReason(item, protocol.OperationInGitCondition) == protocol.ReasonInterruptInGit, "what is shown")
			assert.Equal(t, tc.writes, b.writes)
			assert.Len(t, b.events.Events, tc.events)
			if tc.ends != "" {
				assert.Contains(t, <-b.events.Events, "landscaper.gardener.cloud/token:job", "the event is that of the job")
			}
		})
	}
}

// TestAnInterruptIsForgottenAfterItsEffect lets the process die between the two writes: whoever waits until no operation is left and the job has ended
// never sees the result of another job, and the next process forgets the operation without a further effect.
func TestAnInterruptIsForgottenAfterItsEffect(t *testing.T) {
	b := newBench(t, interrupting, pickedUp)
	b.at(0)
	b.refusePatch = errors.New("the process has died")
	_, err := b.r.Reconcile(t.Context(), b.request())
	require.Error(t, err)
	item := b.shown(t)
	assert.Equal(t, "job", item.Status.JobIDFinished)
	assert.Contains(t, item.Annotations, v1alpha1.OperationAnnotation)
	assert.Len(t, b.events.Events, 1)

	b.refusePatch = nil
	b.pass(t)
	assert.NotContains(t, b.shown(t).Annotations, v1alpha1.OperationAnnotation)
	assert.Equal(t, item.Status, b.shown(t).Status)
	assert.Equal(t, 1, b.writes)
	assert.Len(t, b.events.Events, 1)
}

// TestAnInterruptByHandAfterOneInGitEndsOneJob has an interrupt that left Git and was set by hand while no controller ran, which dies between its writes.
func TestAnInterruptByHandAfterOneInGitEndsOneJob(t *testing.T) {
	b := newBench(t, interrupting, pickedUp, guarded)
	b.at(0)
	b.refusePatch = errors.New("the process has died")
	_, err := b.r.Reconcile(t.Context(), b.request())
	require.Error(t, err)
	assert.Equal(t, "job", b.shown(t).Status.JobIDFinished)

	b.refusePatch = nil
	b.pass(t)
	b.pass(t)
	assert.NotContains(t, b.shown(t).Annotations, v1alpha1.OperationAnnotation)
	assert.False(t, conditions.Has(b.shown(t), protocol.OperationInGitCondition))
	assert.Equal(t, 1, b.writes)
	assert.Len(t, b.events.Events, 1)
	item := b.shown(t)
	item.Status.JobID = "next"
	require.NoError(t, b.api.Status().Update(t.Context(), item))
	b.pass(t)
	assert.Equal(t, "job", b.shown(t).Status.JobIDFinished, "the next job goes on")
}

func TestADeployerThatEndsTheJobFirstIsNotInterrupted(t *testing.T) {
	b := newBench(t, interrupting, pickedUp)
	b.at(0)
	b.refuse = apierrors.NewConflict(schema.GroupResource{}, "item", nil)
	b.pass(t)
	assert.Empty(t, b.events.Events)
	assert.Contains(t, b.shown(t).Annotations, v1alpha1.OperationAnnotation, "the event of what came in between follows")
}
