// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// during is a deployer that lets something happen while it works.
func during(happens func()) *scripted {
	return &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		happens()
		return Outcome{Done: true, Exports: map[string]any{"a": "b"}}, nil
	}}
}

// TestResultNeverOverwritesWhatCameFirst lets somebody end or replace a job while the deployer works on it, and the deployer learn of it only
// from the conflict of its own write.
func TestResultNeverOverwritesWhatCameFirst(t *testing.T) {
	for name, first := range map[string]func(*v1alpha1.DeployItem){
		"interrupt": func(item *v1alpha1.DeployItem) {
			item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID
		},
		"newer job": func(item *v1alpha1.DeployItem) { item.Status.JobID = "2" },
		"newer job that has ended": func(item *v1alpha1.DeployItem) {
			item.Status.JobID, item.Status.JobIDFinished, item.Status.Phase = "2", "2", v1alpha1.PhaseFailed
		},
	} {
		t.Run(name, func(t *testing.T) {
			var d *desk
			d = newDesk(t, during(func() { d.changeUnseen(first) }))
			d.trigger("1")
			d.pass()
			want := d.item().DeepCopy()
			first(want)
			assert.Equal(t, want.Status, d.item().Status)
			assert.NotEqual(t, v1alpha1.PhaseSucceeded, d.item().Status.Phase)
		})
	}
}

func TestResultOfARecreatedItemIsDropped(t *testing.T) {
	var d *desk
	d = newDesk(t, during(func() {
		item := d.item()
		item.Finalizers = nil
		require.NoError(d.t, d.api.Update(d.t.Context(), item))
		require.NoError(d.t, d.api.Delete(d.t.Context(), item))
		fresh := item.DeepCopy()
		fresh.UID, fresh.ResourceVersion, fresh.Status = "another", "", v1alpha1.DeployItemStatus{}
		require.NoError(d.t, d.api.Create(d.t.Context(), fresh))
		d.changeUnseen(func(item *v1alpha1.DeployItem) { item.Status.JobID = "1" })
	}))
	d.trigger("1")
	d.pass()
	assert.Empty(t, d.item().Status.JobIDFinished, "the same job of another object")
}

func TestResultIsKeptWhenOnlyMetadataChanged(t *testing.T) {
	var d *desk
	d = newDesk(t, during(func() {
		item := d.item()
		item.Labels = map[string]string{"a": "b"}
		require.NoError(d.t, d.api.Update(d.t.Context(), item))
	}))
	d.trigger("1")
	d.pass()
	assert.Equal(t, "1", d.item().Status.JobIDFinished)
	assert.Equal(t, "b", d.item().Labels["a"])
}

func TestItemThatKeepsChangingIsNotWrittenForEver(t *testing.T) {
	count := 0
	d := newDesk(t, during(func() {}))
	d.trigger("1")
	d.before = func(verb string) error {
		if item := d.item(); verb == "status" && item.Status.Phase == v1alpha1.PhaseProgressing {
			count++
			item.Labels = map[string]string{"count": string(rune('a' + count))}
			require.NoError(t, d.api.Update(t.Context(), item))
		}
		return nil
	}
	result := d.pass()
	assert.Equal(t, maxConflicts, count)
	assert.NotZero(t, result.RequeueAfter)
}

func TestFinalizerStaysWhenANewerJobCame(t *testing.T) {
	var d *desk
	d = newDesk(t, &scripted{remove: func(context.Context, *Item) (Outcome, error) {
		d.changeUnseen(func(item *v1alpha1.DeployItem) { item.Status.JobID = "2" })
		return Outcome{Done: true}, nil
	}})
	d.trigger("0")
	d.pass()
	require.NoError(t, d.api.Delete(t.Context(), d.item()))
	d.trigger("1")
	d.pass()
	require.NotNil(t, d.item())
	assert.Equal(t, []string{v1alpha1.Finalizer}, d.item().Finalizers)
}

func TestStaleCacheStartsNoJobTwice(t *testing.T) {
	calls := 0
	d := newDesk(t, during(func() { calls++ }))
	d.trigger("1")
	d.cached = d.item()
	d.pass()
	require.Equal(t, "1", d.item().Status.JobIDFinished)
	d.requireSteady()
	assert.Equal(t, 1, calls)
}

// TestAnItemReadBeforeTheEndOfItsJobWasSeenIsNotWorkedOn lets the cache show the end of a job between the read of a pass and its decisions.
func TestAnItemReadBeforeTheEndOfItsJobWasSeenIsNotWorkedOn(t *testing.T) {
	calls := 0
	var during *v1alpha1.DeployItem
	var d *desk
	d = newDesk(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		calls++
		during = d.item()
		return Outcome{Done: true}, nil
	}})
	d.trigger("1")
	d.pass()
	require.Equal(t, "1", d.item().Status.JobIDFinished)
	d.r.seen(d.item())
	d.cached = during
	d.pass()
	assert.Equal(t, 1, calls)
}

func TestPickUpOfAnItemThatChangedIsAConflict(t *testing.T) {
	calls := 0
	d := newDesk(t, during(func() { calls++ }))
	d.trigger("1")
	d.cached = d.item()
	d.changeUnseen(func(item *v1alpha1.DeployItem) {
		item.Status.Deployer = &v1alpha1.DeployerInformation{Identity: "other"}
	})
	result := d.pass()
	assert.NotZero(t, result.RequeueAfter)
	assert.Zero(t, calls)
	assert.Equal(t, "other", d.item().Status.Deployer.Identity)
}

func TestE24TestRequestIsForgottenAfterItsJobBegan(t *testing.T) {
	var d *desk
	looksFinished := func() bool {
		item := d.item()
		return item.Annotations[v1alpha1.OperationAnnotation] == "" && item.Status.IsIdle() && item.Status.Phase.IsFinal()
	}
	d = newDesk(t, during(func() { require.False(t, looksFinished()) }))
	d.trigger("1")
	d.pass()
	require.True(t, looksFinished())
	ended := d.item().Status.JobIDFinished
	d.operate(v1alpha1.OperationTestReconcile)
	d.after = func() {
		if looksFinished() {
			require.NotEqual(t, ended, d.item().Status.JobIDFinished, "an old result")
		}
	}
	d.pass()
	assert.True(t, looksFinished())
	d.requireSteady()
}

func TestE24TestRequestStartsOneJobWhateverDies(t *testing.T) {
	life := func(t *testing.T, death int) (d *desk, calls int) {
		d = newDesk(t, during(func() { calls++ }))
		d.trigger("1")
		d.pass()
		calls = 0
		d.operate(v1alpha1.OperationTestReconcile)
		count := 0
		d.before = func(string) error {
			if count++; death > 0 && count >= death {
				return errDied
			}
			return nil
		}
		d.pass()
		if death > 0 {
			d.restart()
		}
		d.pass()
		d.pass()
		return d, calls
	}
	unharmed, calls := life(t, 0)
	require.Equal(t, 1, calls)
	for death := 1; death <= len(unharmed.writes)-2; death++ {
		d, _ := life(t, death)
		assert.Empty(t, d.item().Annotations[v1alpha1.OperationAnnotation])
		assert.True(t, d.item().Status.IsIdle())
		jobs := map[string]bool{d.item().Status.JobIDFinished: true}
		d.requireSteady()
		jobs[d.item().Status.JobIDFinished] = true
		assert.Len(t, jobs, 1, "no second job")
	}
}

func TestTestRequestDuringItsOwnJobAsksForAnother(t *testing.T) {
	var d *desk
	calls := 0
	d = newDesk(t, during(func() {
		if calls++; calls == 1 {
			d.operate(v1alpha1.OperationTestReconcile)
		}
	}))
	d.operate(v1alpha1.OperationTestReconcile)
	d.pass()
	require.NotEmpty(t, d.item().Annotations[v1alpha1.OperationAnnotation])
	d.pass()
	assert.Equal(t, 2, calls)
	assert.Empty(t, d.item().Annotations[v1alpha1.OperationAnnotation])
	d.requireSteady()
}

func TestTestRequestWhileItsJobWaitsAsksForAnother(t *testing.T) {
	calls := 0
	d := newDesk(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		calls++
		return Outcome{Done: calls > 1, Waiting: "for the next call"}, nil
	}})
	d.operate(v1alpha1.OperationTestReconcile)
	d.pass()
	first := d.item().Status.JobID
	require.Empty(t, d.item().Annotations[v1alpha1.OperationAnnotation])
	d.operate(v1alpha1.OperationTestReconcile)
	d.r.jobs.Of(client.ObjectKeyFromObject(d.item())).Note()
	d.pass()
	require.Equal(t, first, d.item().Status.JobIDFinished)
	require.NotEmpty(t, d.item().Annotations[v1alpha1.OperationAnnotation], "it is answered by a job that began after it")
	d.pass()
	assert.NotEqual(t, first, d.item().Status.JobIDFinished)
	assert.Equal(t, 3, calls)
}

func TestExportSecretOfOthersIsLeftAlone(t *testing.T) {
	d := newDesk(t, during(func() {}))
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "item-export"}, Data: map[string][]byte{"config": []byte("theirs")}}
	require.NoError(t, d.api.Create(t.Context(), foreign))
	d.trigger("1")
	d.pass()
	require.NoError(t, d.api.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
	assert.Equal(t, "theirs", string(foreign.Data["config"]))
	assert.Equal(t, v1alpha1.PhaseFailed, d.item().Status.Phase)
	d.requireSteady()
}

func TestSecretThatIsNoExportAnyMoreIsNotWithdrawn(t *testing.T) {
	exports := map[string]any{"a": "b"}
	d := newDesk(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) { return Outcome{Done: true, Exports: exports}, nil }})
	d.trigger("1")
	d.pass()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "ns", Name: "item-export"}
	require.NoError(t, d.api.Get(t.Context(), key, secret))
	secret.OwnerReferences = nil
	require.NoError(t, d.api.Update(t.Context(), secret))
	exports = nil
	d.trigger("2")
	d.pass()
	assert.NoError(t, d.api.Get(t.Context(), key, secret), "somebody has taken it over")
}

func TestFailingJobIsSteady(t *testing.T) {
	d := newDesk(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) { return Outcome{}, errors.New("no") }})
	d.trigger("1")
	d.pass()
	d.requireSteady()
	assert.Equal(t, "no", d.item().Status.LastError.Message)
	assert.Len(t, d.events.Events, 1)
}
