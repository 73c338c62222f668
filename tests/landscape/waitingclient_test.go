// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// moment is what a client sees of an Installation at one moment.
type moment struct {
	nested                    bool
	operation, token, handled string
	job, finished             string
	generation, observed      int64
	phase                     v1alpha1.Phase
}

func (m moment) installation() *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Generation: m.generation, Annotations: map[string]string{}}}
	if m.nested {
		inst.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(inst, v1alpha1.GroupVersion.WithKind("Installation"))}
	}
	if m.operation != "" {
		inst.Annotations[v1alpha1.OperationAnnotation] = m.operation
	}
	if m.token != "" {
		inst.Annotations[meta.ReconcileRequestAnnotation] = m.token
	}
	inst.Status.JobID, inst.Status.JobIDFinished, inst.Status.Phase = m.job, m.finished, m.phase
	inst.Status.ObservedGeneration, inst.Status.LastHandledReconcileAt = m.observed, m.handled
	return inst
}

func TestE24WaitingClientSeesAnOldResult(t *testing.T) {
	t.Parallel()
	done, running := v1alpha1.PhaseSucceeded, v1alpha1.PhaseProgressing
	cases := map[string]struct {
		moments []moment
		lie     bool
	}{
		"operation removed before the job is shown": {[]moment{
			{operation: "reconcile", job: "a", finished: "a", phase: done}, {job: "a", finished: "a", phase: done},
		}, true},
		"operation removed after the job is shown": {[]moment{
			{operation: "reconcile", job: "a", finished: "a", phase: done}, {operation: "reconcile", job: "b", finished: "a", phase: done},
			{job: "b", finished: "a", phase: running}, {job: "b", finished: "b", phase: done},
		}, false},
		"operation replaced by an interrupt": {[]moment{
			{operation: "reconcile", job: "a", finished: "a", phase: done}, {operation: "interrupt", job: "a", finished: "a", phase: done},
			{job: "a", finished: "a", phase: done},
		}, false},
		"operation of a nested one removed without effect": {[]moment{
			{nested: true, operation: "reconcile", job: "a", finished: "a", phase: done}, {nested: true, job: "a", finished: "a", phase: done},
		}, false},
		"request handled before the job is shown": {[]moment{
			{token: "1", job: "a", finished: "a", phase: done}, {token: "1", handled: "1", job: "a", finished: "a", phase: done},
		}, true},
		"request handled with the job": {[]moment{
			{token: "1", job: "a", finished: "a", phase: done}, {token: "1", handled: "1", job: "b", finished: "a", phase: running},
			{token: "1", handled: "1", job: "b", finished: "b", phase: done},
		}, false},
		"spec observed before the job is shown": {[]moment{
			{generation: 2, observed: 1, job: "a", finished: "a", phase: done}, {generation: 2, observed: 2, job: "a", finished: "a", phase: done},
		}, true},
		"spec observed with the job": {[]moment{
			{generation: 2, observed: 1, job: "a", finished: "a", phase: done}, {generation: 2, observed: 2, job: "b", finished: "a", phase: done},
			{generation: 2, observed: 2, job: "b", finished: "b", phase: done},
		}, false},
		"spec changed during a job": {[]moment{
			{generation: 2, observed: 1, job: "b", finished: "a", phase: running}, {generation: 2, observed: 1, job: "c", finished: "b", phase: done},
			{generation: 2, observed: 2, job: "c", finished: "c", phase: done},
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client, lies := waitingClient{}, false
			for _, m := range tc.moments {
				lies = client.see(m.installation(), true) != "" || lies
			}
			require.Equal(t, tc.lie, lies)
		})
	}
}
