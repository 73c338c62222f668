// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// syncedBy applies an item as a manager keeps it, with a value in its spec and, unless it is empty, an operation.
func (s *stage) syncedBy(manager, value, operation string) *v1alpha1.DeployItem {
	s.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"type": s.deployer.Type(), "config": map[string]any{"value": value}}}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DeployItem"))
	object.SetNamespace(s.namespace)
	object.SetName("item")
	if operation != "" {
		object.SetAnnotations(map[string]string{v1alpha1.OperationAnnotation: operation})
	}
	applied := client.ApplyConfigurationFromUnstructured(object)
	require.NoError(s.t, s.client().Apply(s.t.Context(), applied, client.FieldOwner(manager), client.ForceOwnership))
	return &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "item"}}
}

// hasEnded waits until the item is idle after a job for its present spec.
func (s *stage) hasEnded(item *v1alpha1.DeployItem) {
	s.t.Helper()
	require.NoError(s.t, s.p.Await(s.context(), item, func() bool {
		return item.Status.ObservedGeneration == item.Generation && item.Status.JobID != "" && item.Job().IsIdle()
	}))
}

func TestATestRequestInGitStartsNoLoop(t *testing.T) {
	events := record.NewFakeRecorder(100)
	s := newStage(t, &scripted{}, Options{Recorder: events})
	item := s.syncedBy("kustomize-controller", "first", v1alpha1.OperationTestReconcile)
	s.hasEnded(item)
	ended := item.Status.JobID
	for range 3 {
		item = s.syncedBy("kustomize-controller", "first", v1alpha1.OperationTestReconcile)
	}
	require.NoError(t, s.p.Await(s.context(), item, func() bool { return conditions.IsTrue(item, protocol.OperationInGitCondition) }))
	assert.Equal(t, ended, item.Status.JobID)
	assert.Equal(t, v1alpha1.OperationTestReconcile, item.Annotations[v1alpha1.OperationAnnotation], "Flux would put it back")

	item = s.syncedBy("kustomize-controller", "second", v1alpha1.OperationTestReconcile)
	s.hasEnded(item)
	ensured, _ := s.deployer.calls()
	assert.Equal(t, 2, ensured, "one job for each spec")

	item = s.syncedBy("kustomize-controller", "second", "")
	require.NoError(t, s.p.Await(s.context(), item, func() bool { return !conditions.Has(item, protocol.OperationInGitCondition) }))
	ensured, _ = s.deployer.calls()
	assert.Equal(t, 2, ensured)
	require.Len(t, events.Events, 1)
	assert.Contains(t, <-events.Events, "LoopGuard")
}

func TestATestRequestOfAPersonStartsAJob(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	item := s.syncedBy("kustomize-controller", "first", v1alpha1.OperationTestReconcile)
	s.hasEnded(item)
	item = s.syncedBy("kustomize-controller", "first", "")
	require.NoError(t, s.p.Await(s.context(), item, func() bool { return !conditions.Has(item, protocol.OperationInGitCondition) }))

	ended := item.Status.JobID
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+v1alpha1.OperationAnnotation+`":"`+v1alpha1.OperationTestReconcile+`"}}}`))
	require.NoError(t, s.client().Patch(t.Context(), item, patch, client.FieldOwner("kubectl-annotate")))
	require.NoError(t, s.p.Await(s.context(), item, func() bool {
		return item.Status.JobID != ended && item.Job().IsIdle() && item.Annotations[v1alpha1.OperationAnnotation] == ""
	}))
	assert.False(t, conditions.Has(item, protocol.OperationInGitCondition))
}
