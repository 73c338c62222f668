// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"testing"
	"time"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestE17NothingIsKeptOfAnInstallationThatIsGone(t *testing.T) {
	inst := fixture.Working("root", "1", "")
	inst.Spec.Suspend = true
	r, recorder := with(t, inst), metrics.NewRecorder()
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return nil
		},
	})
	r.setUp(r.Client)
	r.Now, r.Backoff, r.Recorder = time.Now, queue.NewBackoff(time.Second, time.Minute), silent
	r.Metrics = runtimectrl.Metrics{Scheme: r.Scheme(), MetricsRecorder: recorder}
	registry, request := prometheus.NewRegistry(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(inst)}
	registry.MustRegister(recorder.Collectors()...)
	series := func() int {
		_, err := r.Reconcile(t.Context(), request)
		require.NoError(t, err)
		found, err := registry.Gather()
		require.NoError(t, err)
		return len(found)
	}
	assert.Equal(t, 1, series())
	r.begun.Store(request.NamespacedName, begunJob{"job", time.Now()})
	require.NoError(t, r.Delete(t.Context(), inst))
	assert.Zero(t, series())
	_, isKept := r.begun.Load(request.NamespacedName)
	assert.False(t, isKept, "when its job has begun, from which the moment of grace counts")
}
