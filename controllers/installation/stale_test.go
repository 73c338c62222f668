// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestNothingIsDecidedOnAnInstallationThatTheCacheShowsTooOld(t *testing.T) {
	inst := fixture.Working("root", "1", "")
	inst.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
	for name, lags := range map[string]bool{"old": true, "as it is": false} {
		t.Run(name, func(t *testing.T) {
			r, writes := with(t, inst.DeepCopy()), 0
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
					writes++
					return nil
				},
			})
			r.setUp(r.Client)
			r.Now, r.Backoff, r.Recorder = time.Now, queue.NewBackoff(time.Second, time.Minute), silent
			if lags {
				r.installations.Wrote(fixture.Newer(inst))
			}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(inst)})
			require.NoError(t, err)
			assert.Equal(t, lags, writes == 0)
		})
	}
}

func TestTheGenerationIsObservedUntilAChildHasTheJob(t *testing.T) {
	for name, given := range map[string]bool{"no child has it": false, "one has it": true} {
		t.Run(name, func(t *testing.T) {
			inst := fixture.Working("root", "1", "job")
			inst.Generation, inst.Status.ObservedGeneration = 2, 1
			execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root"}}
			if given {
				execution.Status.JobID = "job"
			}
			r := with(t, inst)
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
					return nil
				},
			})
			r.setUp(r.Client)
			s := newScope(inst, time.Time{})
			s.execution, s.content = execution, &content{}
			require.NoError(t, r.recordJob(t.Context(), s))
			assert.Equal(t, given, inst.Status.ObservedGeneration == 1)
		})
	}
}
