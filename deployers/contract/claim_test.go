// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestD14JobOfAnotherDeployerIsLeftToIt(t *testing.T) {
	calls := 0
	d := newDesk(t, during(func() { calls++ }))
	d.trigger("1")
	began := metav1.Now()
	begin := func(at metav1.Time) func(*v1alpha1.DeployItem) {
		return func(item *v1alpha1.DeployItem) {
			item.Status.Phase, item.Status.LastReconcileTime = v1alpha1.PhaseProgressing, &began
			item.Status.TransitionTimes = &v1alpha1.TransitionTimes{InitTime: &at}
			item.Status.Deployer = &v1alpha1.DeployerInformation{Identity: "other", Name: d.deployer.Name()}
		}
	}
	d.change(begin(began))
	result := d.pass()
	require.Zero(t, calls)
	assert.Greater(t, result.RequeueAfter, 9*time.Minute)
	d.requireSteady()

	d.change(begin(metav1.NewTime(began.Add(-time.Hour))))
	d.pass()
	assert.Zero(t, calls, "a job that is late is ended, not worked on")
	assert.Equal(t, v1alpha1.PhaseFailed, d.item().Status.Phase)
	assert.Equal(t, "1", d.item().Status.JobIDFinished)
}

func TestD14OwnJobIsResumedAfterARestart(t *testing.T) {
	calls := 0
	d := newDesk(t, during(func() { calls++ }))
	d.trigger("1")
	writes := 0
	d.before = func(string) error {
		if writes++; writes > 1 {
			return errDied
		}
		return nil
	}
	d.pass()
	require.Equal(t, v1alpha1.PhaseProgressing, d.item().Status.Phase)
	d.restart()
	d.pass()
	assert.Equal(t, 2, calls)
	assert.Equal(t, v1alpha1.PhaseSucceeded, d.item().Status.Phase)
}

func TestD13CorrectedSettingsLetADeletionGoOn(t *testing.T) {
	d := newDesk(t, &scripted{remove: func(_ context.Context, item *Item) (Outcome, error) {
		if string(item.DeployItem.Spec.Configuration.Raw) != `{"fixed":true}` {
			return Outcome{}, protocol.Stall("Delete", "InvalidConfiguration", "spec.config.deletionGroups: an unknown type")
		}
		return Outcome{Done: true}, nil
	}})
	d.trigger("1")
	d.pass()
	require.NoError(t, d.api.Delete(t.Context(), d.item()))
	d.trigger("2")
	d.pass()
	failed := d.item()
	require.Equal(t, v1alpha1.PhaseDeleteFailed, failed.Status.Phase)
	assert.Contains(t, failed.Status.LastError.Message, "deletionGroups")
	d.requireSteady()

	failed.Spec.Configuration.Raw = []byte(`{"fixed":true}`)
	require.NoError(t, d.api.Update(t.Context(), failed))
	d.trigger("3")
	d.pass()
	assert.Nil(t, d.item())
}
