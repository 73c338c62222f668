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
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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
	decidedFor.UID, decidedFor.ResourceVersion = "of one that is gone", "1"
	require.NoError(t, DeleteLive(t.Context(), api, api, decidedFor, nil))
	require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(item), item))
	assert.True(t, item.DeletionTimestamp.IsZero())
}

func TestDeleteLiveLeavesWhatWasTakenFromItsOwnerAlone(t *testing.T) {
	api, item := stored(t)
	controls := true
	touched(t, api, item, func(item *v1alpha1.DeployItem) {
		item.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Execution", Name: "one", UID: "one", Controller: &controls}}
	})
	require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(item), item))
	touched(t, api, item, func(item *v1alpha1.DeployItem) { item.OwnerReferences = nil })
	require.NoError(t, DeleteLive(t.Context(), api, api, item.DeepCopy(), nil))
	require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(item), item))
	assert.True(t, item.DeletionTimestamp.IsZero())
}

func TestDeleteLiveReadsOnlyWhatTheCacheDoesNotShow(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(t *testing.T, api client.Client, item *v1alpha1.DeployItem)
		reads   int
		deletes int
	}{
		"current":          {func(*testing.T, client.Client, *v1alpha1.DeployItem) {}, 0, 1},
		"an older version": {func(t *testing.T, api client.Client, item *v1alpha1.DeployItem) { touched(t, api, item, label) }, 1, 2},
		"in deletion": {func(_ *testing.T, _ client.Client, item *v1alpha1.DeployItem) {
			item.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}, 0, 0},
		"read by its name": {func(_ *testing.T, _ client.Client, item *v1alpha1.DeployItem) { item.ResourceVersion = "" }, 1, 1},
		"gone":             {func(t *testing.T, api client.Client, item *v1alpha1.DeployItem) { vanish(t, api, item) }, 0, 1},
		"gone, and a new one": {func(t *testing.T, api client.Client, item *v1alpha1.DeployItem) {
			vanish(t, api, item)
			next := item.DeepCopy()
			next.UID, next.ResourceVersion = "another", ""
			require.NoError(t, api.Create(t.Context(), next))
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			api, item := stored(t)
			tc.change(t, api, item)
			var reads, deletes int
			counted := interceptor.NewClient(api.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, obj, options...)
				},
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
					deletes++
					return c.Delete(ctx, obj, options...)
				},
			})
			require.NoError(t, DeleteLive(t.Context(), counted, counted, item, nil))
			assert.Equal(t, []int{tc.reads, tc.deletes}, []int{reads, deletes})
		})
	}
}

// vanish makes an item go that is held by a finalizer.
func vanish(t *testing.T, api client.Client, item *v1alpha1.DeployItem) {
	t.Helper()
	touched(t, api, item, func(item *v1alpha1.DeployItem) { item.Finalizers = nil })
	require.NoError(t, api.Delete(t.Context(), item.DeepCopy()))
}

// changing is a client that changes the object before each deletion, also after the live read.
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
	writer := changing{api, func() {
		current := &v1alpha1.DeployItem{}
		require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(item), current))
		current.Generation++
		touched(t, api, current, label)
	}}
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
