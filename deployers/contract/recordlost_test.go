// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestALostRecordIsNotedUntilAJobSucceeds(t *testing.T) {
	var seen []bool
	fails := true
	d := newDesk(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		seen = append(seen, HasLostRecord(item.DeployItem))
		if fails {
			return Outcome{}, Stall("Test", "Test", "it is broken")
		}
		return Outcome{Done: true}, nil
	}})
	d.change(func(item *v1alpha1.DeployItem) {
		conditions.MarkTrue(item, v1alpha1.RecordLostCondition, "StatusRemoved", "lost")
	})

	d.trigger("1")
	d.pass()
	require.Equal(t, v1alpha1.PhaseFailed, d.item().Status.Phase)
	assert.True(t, HasLostRecord(d.item()))

	fails = false
	d.trigger("2")
	d.pass()
	require.Equal(t, v1alpha1.PhaseSucceeded, d.item().Status.Phase)
	assert.False(t, HasLostRecord(d.item()))
	assert.Equal(t, []bool{true, true}, seen)
	d.requireSteady()
}

// unmarked makes an item without finalizer, as a person does.
func unmarked(item *v1alpha1.DeployItem) { item.Finalizers = nil }

// wipe removes the status of the item, as a restore without status does.
func (d *desk) wipe() {
	d.t.Helper()
	d.change(func(item *v1alpha1.DeployItem) { item.Status = v1alpha1.DeployItemStatus{} })
}

func TestAnItemWithoutExecutionThatHasLostItsStatusSaysSo(t *testing.T) {
	var seen []bool
	look := func(_ context.Context, item *Item) (Outcome, error) {
		seen = append(seen, HasLostRecord(item.DeployItem))
		return Outcome{Done: true}, nil
	}
	d := newDesk(t, &scripted{ensure: look}, unmarked)
	d.succeed()
	d.wipe()
	d.requireSteady()

	d.succeed()
	require.False(t, HasLostRecord(d.item()))
	d.wipe()
	d.operate(v1alpha1.OperationTestReconcile)
	d.pass()

	assert.Equal(t, []bool{false, true, true}, seen)
	d.requireSteady()
}

func TestADeletionThatCannotLookFailsOnce(t *testing.T) {
	calls := 0
	d := newDesk(t, &scripted{remove: func(_ context.Context, item *Item) (Outcome, error) {
		calls++
		require.True(t, HasLostRecord(item.DeployItem))
		return Outcome{}, CannotLook(item.DeployItem, Stall("Test", "Test", "the cluster is dead"))
	}}, unmarked)
	d.succeed()
	d.wipe()
	require.NoError(t, d.api.Delete(t.Context(), d.item()))

	d.trigger("2")
	d.pass()
	d.requireSteady()

	require.Equal(t, 1, calls)
	require.Equal(t, v1alpha1.PhaseDeleteFailed, d.item().Status.Phase)
	assert.Contains(t, d.item().Status.LastError.Message, v1alpha1.DeleteWithoutUninstallAnnotation)
	d.trigger("3")
	d.pass()
	assert.Equal(t, 2, calls, "the loss is known until the item is gone")
}

// TestAFirstJobIsNoLossWhateverHappensBetweenItsWrites stops the first job of an item without finalizer at each of its writes.
func TestAFirstJobIsNoLossWhateverHappensBetweenItsWrites(t *testing.T) {
	conflict := apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), "item", errDied)
	for _, verb := range []string{"status", "patch"} {
		for name, problem := range map[string]error{"death": errDied, "conflict": conflict} {
			t.Run(name+" at "+verb, func(t *testing.T) {
				var finalizers [][]string
				d := newDesk(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
					finalizers = append(finalizers, item.DeployItem.Finalizers)
					require.False(t, HasLostRecord(item.DeployItem))
					return Outcome{Done: true}, nil
				}}, unmarked)
				isStopped := false
				d.before = func(v string) error {
					if isStopped && problem == errDied || !isStopped && v == verb {
						isStopped = true
						return problem
					}
					return nil
				}
				d.trigger("1")
				d.pass()
				require.True(t, isStopped)
				require.Empty(t, finalizers, "the deployer is called with the finalizer only")
				if problem == errDied {
					d.restart()
				}

				d.pass()

				assert.Equal(t, [][]string{{v1alpha1.Finalizer}}, finalizers)
				assert.Equal(t, v1alpha1.PhaseSucceeded, d.item().Status.Phase)
				assert.Equal(t, []string{"status", "patch", "status"}, d.writes)
				d.requireSteady()
			})
		}
	}
}

func TestARefusedFinalizerIsShownAndTriedAgain(t *testing.T) {
	d := newDesk(t, &scripted{}, unmarked)
	asked := d.refuse(errDenied)
	d.trigger("1")
	d.pass()
	d.requireSteady()

	called, _ := d.deployer.calls()
	assert.Zero(t, called)
	assert.Equal(t, 1, *asked)
	require.NotNil(t, d.item().Status.LastError)
	assert.Contains(t, d.item().Status.LastError.Message, "cannot set the finalizer "+v1alpha1.Finalizer)

	d.before = nil
	d.r.jobs.Of(client.ObjectKeyFromObject(d.item())).Note()
	d.pass()
	assert.Equal(t, v1alpha1.PhaseSucceeded, d.item().Status.Phase)
	d.requireSteady()
}
