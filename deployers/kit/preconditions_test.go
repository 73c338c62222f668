// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// stored returns an API server in memory with a DeployItem, and that as it was read.
func stored(t *testing.T) (client.Client, *v1alpha1.DeployItem) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "item", UID: "u", Finalizers: []string{"f"}}}
	api := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(item).WithObjects(item).Build()
	read := &v1alpha1.DeployItem{}
	require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(item), read))
	return api, read
}

// touched changes what is stored after it was read.
func touched(t *testing.T, api client.Client, item *v1alpha1.DeployItem, change func(*v1alpha1.DeployItem)) {
	t.Helper()
	current := item.DeepCopy()
	change(current)
	require.NoError(t, api.Update(t.Context(), current))
}

func label(item *v1alpha1.DeployItem) { item.Labels = map[string]string{"a": "b"} }

func TestDeleteLiveLeavesAnotherObjectOfThatNameAlone(t *testing.T) {
	api, item := stored(t)
	decidedFor := item.DeepCopy()
	decidedFor.UID = "of one that is gone"
	require.NoError(t, DeleteLive(t.Context(), api, api, decidedFor, nil))
	require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(item), item))
	assert.True(t, item.DeletionTimestamp.IsZero())
}

func TestDeleteLiveLeavesWhatWasTakenFromItsOwnerAlone(t *testing.T) {
	api, item := stored(t)
	decidedFor, controls := item.DeepCopy(), true
	decidedFor.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Execution", Name: "one", UID: "one", Controller: &controls}}
	require.NoError(t, DeleteLive(t.Context(), api, api, decidedFor, nil))
	require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(item), item))
	assert.True(t, item.DeletionTimestamp.IsZero())
}

// changing is a client that changes the object after the live read and before the deletion.
type changing struct {
	client.Client
	change func()
}

// Delete deletes after the change.
func (c changing) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	c.change()
	return c.Client.Delete(ctx, obj, options...)
}

func TestDeleteLiveFailsWhenTheObjectChangesMeanwhile(t *testing.T) {
	api, item := stored(t)
	writer := changing{api, func() { touched(t, api, item, label) }}
	err := DeleteLive(t.Context(), api, writer, item.DeepCopy(), nil)
	assert.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestPatchMetadataFailsWhenTheObjectChanged(t *testing.T) {
	api, item := stored(t)
	touched(t, api, item, label)
	err := PatchMetadata(t.Context(), api, item, MetadataChange{RemoveFinalizer: "f"})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestStatusIsNotWrittenOverAChange(t *testing.T) {
	api, item := stored(t)
	touched(t, api, item, label)
	item.Status.JobID = "job"
	err := WriteItemStatus(t.Context(), api, item.DeepCopy(), time.Now(), &Consistency{})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = WriteStatus(t.Context(), api, item, &item.Status, &v1alpha1.DeployItemStatus{}, &Consistency{})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestControllerOfIsOfOurGroupAndKind(t *testing.T) {
	controller, ours := true, v1alpha1.GroupVersion.String()
	for name, c := range map[string]struct {
		owner metav1.OwnerReference
		want  bool
	}{
		"ours":            {metav1.OwnerReference{APIVersion: ours, Kind: "Execution", Controller: &controller}, true},
		"another kind":    {metav1.OwnerReference{APIVersion: ours, Kind: "Installation", Controller: &controller}, false},
		"another group":   {metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Execution", Controller: &controller}, false},
		"no controller":   {metav1.OwnerReference{APIVersion: ours, Kind: "Execution"}, false},
		"another version": {metav1.OwnerReference{APIVersion: v1alpha1.GroupName + "/v2", Kind: "Execution", Controller: &controller}, true},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{c.owner}}}
			assert.Equal(t, c.want, ControllerOf(item, "Execution") != nil)
		})
	}
}
