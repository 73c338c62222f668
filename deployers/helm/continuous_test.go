// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

// TestB1303ContinuousReconcileOfCharts lets the clock deploy a chart again: nothing changes while everything is there, and what is missing comes back.
func TestB1303ContinuousReconcileOfCharts(t *testing.T) {
	for name, isRelease := range map[string]bool{"release": true, "template": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.serveWith(contract.Options{MinContinuousInterval: time.Second})
			f.createItem(config{
				"chart":          raw(archive(t, "1.0.0", map[string]string{"templates/deployment.yaml": deploymentTemplate})),
				"helmDeployment": isRelease, "readinessChecks": config{"disableDefault": true}, "continuousReconcile": config{"every": "1s"},
			}, testTimeout)
			f.request()
			require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)
			deployment := &appsv1.Deployment{}
			require.NoError(t, f.get("hello-world", deployment))
			first := deployment.DeepCopy()

			for range 2 {
				f.byTheClock()
			}
			require.NoError(t, f.get("hello-world", deployment))
			assert.Equal(t, first.ResourceVersion, deployment.ResourceVersion, "nothing is written while nothing has changed")
			if isRelease {
				assert.Equal(t, 1, f.release().Revision)
			}

			require.NoError(t, f.cluster.Client.Delete(f.ctx, deployment))
			require.NoError(t, f.platform.Await(f.ctx, deployment, func() bool { return deployment.UID != first.UID }))
			f.byTheClock()
			if isRelease {
				assert.Equal(t, 2, f.release().Revision)
			}
		})
	}
}

// byTheClock waits for the good end of another job that the clock has started.
func (f *fixture) byTheClock() {
	f.Helper()
	last := f.item.Status.JobIDFinished
	require.NoError(f, f.platform.Await(f.ctx, f.item, func() bool {
		return f.item.Status.JobIDFinished != last && f.item.Status.IsIdle() && strings.HasPrefix(f.item.Status.JobID, v1alpha1.ContinuousJobPrefix)
	}))
	require.Equal(f, v1alpha1.PhaseSucceeded, f.item.Status.Phase, "%+v", f.item.Status.LastError)
}
