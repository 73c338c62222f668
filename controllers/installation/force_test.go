// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// deployedBy makes the DeployItem of an Execution, as its controller does, with what a deployer recorded.
func (s *stage) deployedBy(execution *v1alpha1.Execution) *v1alpha1.DeployItem {
	s.t.Helper()
	item := &v1alpha1.DeployItem{
		ObjectMeta: s.named(execution.Name + "-item"),
		Spec:       v1alpha1.DeployItemSpec{Type: "example.com/none", Target: &v1alpha1.DeployItemTarget{Name: "cluster", Namespace: s.namespace}},
	}
	item.Finalizers = []string{v1alpha1.Finalizer}
	item.Labels = map[string]string{v1alpha1.ExecutionManagedByLabel: execution.Name, v1alpha1.ExecutionManagedNameLabel: "item"}
	item.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(execution, v1alpha1.GroupVersion.WithKind("Execution"))}
	s.create(item)
	editStatus(s, item, func(item *v1alpha1.DeployItem) {
		item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"release":{"namespace":"apps","name":"shop"},` +
			`"managedResources":[{"kind":"Service","name":"a"},{"resource":{"kind":"ConfigMap","name":"b"}}]}`)}
	})
	return item
}

func TestADeletionByForceTakesTheTreeApartAndSaysWhatStays(t *testing.T) {
	s := newStage(t)
	root := fixture.Following(s.parentOf("root", "a"))
	s.create(root)
	child := s.child("root")
	execution := s.execution(child.Name, "")
	item := s.deployedBy(execution)
	require.NoError(t, s.client.Delete(s.ctx, root))
	s.annotate("root", v1alpha1.ForceDeleteAnnotation, "true")
	for _, object := range []client.Object{root, child, execution, item} {
		require.Eventually(t, func() bool {
			return apierrors.IsNotFound(s.client.Get(s.ctx, client.ObjectKeyFromObject(object), object))
		}, patience, tick, "%T", object)
	}
	records := &corev1.ConfigMapList{}
	require.NoError(t, s.client.List(s.ctx, records, client.InNamespace(s.namespace), client.MatchingLabels{v1alpha1.LeftBehindLabel: "root"}))
	require.Len(t, records.Items, 1)
	require.Contains(t, records.Items[0].Data, item.Name)
	for _, told := range []string{"installation: root/child", "release: apps/shop", "target: cluster", "name: a", "name: b"} {
		assert.Contains(t, records.Items[0].Data[item.Name], told)
	}
	s.quiet()
}
