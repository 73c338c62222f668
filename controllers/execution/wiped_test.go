// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// wipe removes the status of an item, as a restore without status or a replacement does.
func (b *bench) wipe(template string) {
	b.t.Helper()
	b.deploy(template, func(item *v1alpha1.DeployItem) { item.Status = v1alpha1.DeployItemStatus{} })
}

func (b *bench) deleteExecution() {
	b.t.Helper()
	require.NoError(b.t, b.api.Delete(b.t.Context(), b.execution()))
	b.settle()
}

func TestAnItemThatHasLostItsStatusIsLeftToItsDeployer(t *testing.T) {
	for name, lose := range map[string]func(b *bench){
		"deleted with its Execution": func(b *bench) {
			b.wipe("a")
			b.deleteExecution()
		},
		"in the middle of its deletion": func(b *bench) {
			b.deleteExecution()
			b.wipe("a")
			b.settle()
		},
		"dropped by the spec": func(b *bench) {
			b.wipe("a")
			b.specify(template("b", "t"))
			b.start("2")
		},
		"deleted before its deployer took the next job up": func(b *bench) {
			b.wipe("a")
			b.start("2")
			b.operate(v1alpha1.OperationInterrupt)
			b.settle()
			b.deleteExecution()
		},
		"interrupted before it got the next job": func(b *bench) {
			b.wipe("a")
			b.ask("2")
			b.operate(v1alpha1.OperationInterrupt)
			b.settle()
			b.deleteExecution()
		},
		"without finalizer at first": func(b *bench) {
			b.deploy("a", func(item *v1alpha1.DeployItem) { item.Finalizers = nil })
			b.wipe("a")
			b.settle()
			b.deploy("a", func(item *v1alpha1.DeployItem) { item.Finalizers = []string{v1alpha1.Finalizer} }) // its deployer
			b.deleteExecution()
		},
		"with its Execution": func(b *bench) {
			b.wipe("a")
			execution := b.execution()
			execution.Status = v1alpha1.ExecutionStatus{}
			require.NoError(b.t, b.api.Status().Update(b.t.Context(), execution))
			b.deleteExecution()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"), template("b", "t"))
			b.start("1")
			b.end("a", v1alpha1.PhaseSucceeded)
			b.end("b", v1alpha1.PhaseSucceeded)
			b.settle()

			lose(b)

			item := b.item("a")
			require.NotNil(t, item)
			assert.False(t, item.DeletionTimestamp.IsZero())
			assert.Contains(t, item.Finalizers, v1alpha1.Finalizer)
			assert.False(t, item.Status.IsIdle(), "its deployer has a job")
			assert.True(t, conditions.IsTrue(item, v1alpha1.RecordLostCondition))
			b.requireSteady()
		})
	}
}

func TestTheNextJobOfAnItemThatHasLostItsStatusSaysSo(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.end("b", v1alpha1.PhaseSucceeded)
	b.settle()
	b.wipe("a")

	b.start("2")

	assert.Equal(t, "2", b.item("a").Status.JobID)
	assert.True(t, conditions.IsTrue(b.item("a"), v1alpha1.RecordLostCondition))
	assert.False(t, conditions.Has(b.item("b"), v1alpha1.RecordLostCondition))
}

// TestItemsThatNeverGotAJobGoWithoutADeployer deletes an Execution some of whose items wait for their first job.
func TestItemsThatNeverGotAJobGoWithoutADeployer(t *testing.T) {
	for name, tc := range map[string]struct {
		fail  func(b *bench)
		waits string
	}{
		"what it depends on has failed": {func(b *bench) {
			b.start("1")
			b.end("a", v1alpha1.PhaseFailed)
			b.settle()
		}, "b"},
		"another one cannot be created": {func(b *bench) {
			b.before = func(verb string, obj client.Object) error {
				if item, isItem := obj.(*v1alpha1.DeployItem); isItem && verb == "create" && templateOf(item) == "b" {
					return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), item.Name, errDied)
				}
				return nil
			}
			b.ask("1")
			b.pass()
		}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"), template("b", "t", "a"))
			tc.fail(b)
			waits := b.item(tc.waits)
			require.NotNil(t, waits)
			require.Contains(t, waits.Finalizers, v1alpha1.Finalizer)
			require.Empty(t, waits.Status.JobID)

			b.deleteExecution()

			assert.Nil(t, b.item(tc.waits))
		})
	}
}

// TestAFirstJobThatIsHandedOverLateIsNoLoss has somebody else change the item between its creation and its first job.
func TestAFirstJobThatIsHandedOverLateIsNoLoss(t *testing.T) {
	b := newBench(t, template("a", "t"))
	came := false
	b.before = func(verb string, obj client.Object) error {
		item, isItem := obj.(*v1alpha1.DeployItem)
		switch {
		case isItem && verb == "create":
			item.CreationTimestamp.Time = b.now // as the API server does
		case isItem && verb == "status" && !came:
			came = true
			return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), item.Name, errDied)
		}
		return nil
	}

	b.start("1")
	b.settle()

	require.True(t, came)
	require.Equal(t, "1", b.item("a").Status.JobID)
	assert.False(t, conditions.Has(b.item("a"), v1alpha1.RecordLostCondition))
}
