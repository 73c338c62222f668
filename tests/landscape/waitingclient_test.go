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

// child is what a client sees of an Execution or a DeployItem at one moment.
type child struct {
	operation, handed, job, finished string
	generation, observed             int64
}

func (c child) annotations() map[string]string {
	return map[string]string{v1alpha1.OperationAnnotation: c.operation, v1alpha1.JobAnnotation: c.handed}
}

func (c child) status() v1alpha1.JobStatus {
	status := v1alpha1.JobStatus{JobID: c.job, JobIDFinished: c.finished, Phase: v1alpha1.PhaseSucceeded}
	if !status.IsIdle() {
		status.Phase = v1alpha1.PhaseProgressing
	}
	return status
}

func (c child) execution() worker {
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Generation: c.generation, Annotations: c.annotations()}}
	execution.Status.JobStatus, execution.Status.ObservedGeneration = c.status(), c.observed
	return execution
}

func (c child) item() worker {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Generation: c.generation, Annotations: c.annotations()}}
	item.Status.JobStatus, item.Status.ObservedGeneration = c.status(), c.observed
	return item
}

func TestE24WaitingClientSeesAnOldResultOfAChild(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		moments []child
		as      func(child) worker
		lie     bool
	}{
		"execution asked without a sign": {[]child{{handed: "a", job: "a", finished: "a"}, {handed: "b", job: "a", finished: "a"}}, child.execution, true},
		"execution asked in the status": {[]child{
			{handed: "a", job: "a", finished: "a"}, {handed: "b", job: "b", finished: "a"}, {handed: "b", job: "b", finished: "b"},
		}, child.execution, false},
		"execution asked by the status before the annotation": {[]child{
			{handed: "a", job: "a", finished: "a"}, {handed: "a", job: "b", finished: "a"}, {handed: "b", job: "b", finished: "b"},
		}, child.execution, false},
		"execution asked with another spec": {[]child{
			{handed: "a", job: "a", finished: "a", generation: 1, observed: 1}, {handed: "b", job: "a", finished: "a", generation: 2, observed: 1},
			{handed: "b", job: "b", finished: "a", generation: 2, observed: 2}, {handed: "b", job: "b", finished: "b", generation: 2, observed: 2},
		}, child.execution, false},
		"execution that forgets an operation": {[]child{
			{operation: v1alpha1.OperationReconcile, job: "a", finished: "a"}, {job: "a", finished: "a"},
		}, child.execution, false},
		"item with another spec without a job": {[]child{
			{job: "a", finished: "a", generation: 2, observed: 1}, {job: "a", finished: "a", generation: 2, observed: 2},
		}, child.item, true},
		"item with another spec and a job": {[]child{
			{job: "a", finished: "a", generation: 2, observed: 1}, {job: "b", finished: "a", generation: 2, observed: 1},
			{job: "b", finished: "b", generation: 2, observed: 2},
		}, child.item, false},
		"item whose test is forgotten": {[]child{
			{operation: v1alpha1.OperationTestReconcile, job: "a", finished: "a"}, {job: "a", finished: "a"},
		}, child.item, true},
		"item that is tested": {[]child{
			{operation: v1alpha1.OperationTestReconcile, job: "a", finished: "a"}, {operation: v1alpha1.OperationTestReconcile, job: "b", finished: "a"},
			{job: "b", finished: "a"}, {job: "b", finished: "b"},
		}, child.item, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client, lies := waitingClient{}, false
			for _, m := range tc.moments {
				lies = client.see(tc.as(m), true) != "" || lies
			}
			require.Equal(t, tc.lie, lies)
		})
	}
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
