// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// answers is an API server that counts writes of one Execution and answers each with what it has stored, or with an error.
type answers struct {
	client.Client
	writes int
	err    error
	// managed are the managed fields that came with the last status.
	managed []metav1.ManagedFieldsEntry
}

func (a *answers) Status() client.SubResourceWriter { return statusAnswers{answers: a} }

func (a *answers) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	if a.err == nil {
		obj.(*v1alpha1.Execution).Status = v1alpha1.ExecutionStatus{}
	}
	return a.stored(obj)
}

func (a *answers) stored(obj client.Object) error {
	a.writes++
	if a.err == nil {
		obj.SetResourceVersion("2")
	}
	return a.err
}

type statusAnswers struct {
	client.SubResourceWriter
	answers *answers
}

func (s statusAnswers) Update(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	s.answers.managed = obj.GetManagedFields()
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
	return s.answers.stored(obj)
}

// running is an Execution as it was read before it began a job.
func running() (*v1alpha1.Execution, *v1alpha1.ExecutionStatus) {
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one", UID: "u", ResourceVersion: "1"}}
	persisted := execution.Status.DeepCopy()
	execution.Status.JobID = "job"
	return execution, persisted
}

// older is the Execution as a cache has it that has not seen the write.
func older() *v1alpha1.Execution {
	execution, _ := running()
	return execution
}

func TestWriteStatusRemembersWhatItWrote(t *testing.T) {
	api, written := &answers{}, &Consistency{}
	execution, persisted := running()
	persisted, err := WriteStatus(t.Context(), api, execution, &execution.Status, persisted, written)
	require.NoError(t, err)
	assert.Equal(t, execution.Status, *persisted)
	assert.NotSame(t, &execution.Status, persisted)
	assert.True(t, written.Stale(older()))
}

func TestAStatusIsSentWithoutManagedFields(t *testing.T) {
	api, written := &answers{}, &Consistency{}
	execution, persisted := running()
	for _, job := range []string{"first", "second"} {
		execution.Status.JobID = job
		var err error
		persisted, err = WriteStatus(t.Context(), api, execution, &execution.Status, persisted, written)
		require.NoError(t, err)
		assert.Empty(t, api.managed)
	}
	assert.Equal(t, 2, api.writes)
}

func TestWriteStatusWritesChangesOnly(t *testing.T) {
	api := &answers{}
	execution, _ := running()
	persisted := execution.Status.DeepCopy()
	kept, err := WriteStatus(t.Context(), api, execution, &execution.Status, persisted, &Consistency{})
	require.NoError(t, err)
	assert.Same(t, persisted, kept)
	assert.Zero(t, api.writes)
}

func TestWriteStatusThatFailsChangesNothing(t *testing.T) {
	api, written := &answers{err: errors.New("down")}, &Consistency{}
	execution, persisted := running()
	kept, err := WriteStatus(t.Context(), api, execution, &execution.Status, persisted, written)
	require.ErrorIs(t, err, api.err)
	assert.Same(t, persisted, kept)
	assert.False(t, written.Stale(older()))
}

func TestPatchMetadataOnlyKeepsTheStatusOfTheReconciliation(t *testing.T) {
	api, written := &answers{}, &Consistency{}
	execution, _ := running()
	change := MetadataChange{AddFinalizer: v1alpha1.Finalizer}
	require.NoError(t, PatchMetadataOnly(t.Context(), api, execution, &execution.Status, change, written))
	assert.Equal(t, "job", execution.Status.JobID)
	assert.True(t, written.Stale(older()))
}

func TestPatchMetadataOnlyStopsWhenTheObjectIsGone(t *testing.T) {
	api := &answers{err: apierrors.NewNotFound(schema.GroupResource{}, "one")}
	execution, _ := running()
	change := MetadataChange{AddFinalizer: v1alpha1.Finalizer}
	require.ErrorIs(t, PatchMetadataOnly(t.Context(), api, execution, &execution.Status, change, &Consistency{}), ErrStop)
}

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

func state(uid, version string) *v1alpha1.Installation {
	return &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: "i", UID: types.UID(uid), ResourceVersion: version,
	}}
}

var key = client.ObjectKey{Namespace: "n", Name: "i"}

func TestConsistencyStale(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record func(*Consistency)
		cached *v1alpha1.Installation
		stale  bool
	}{
		"nothing written":                {func(*Consistency) {}, state("a", "5"), false},
		"older than the write":           {func(c *Consistency) { c.Wrote(state("a", "7")) }, state("a", "5"), true},
		"as the write":                   {func(c *Consistency) { c.Wrote(state("a", "7")) }, state("a", "7"), false},
		"newer than the write":           {func(c *Consistency) { c.Wrote(state("a", "7")) }, state("a", "9"), false},
		"versions compare as numbers":    {func(c *Consistency) { c.Wrote(state("a", "10")) }, state("a", "9"), true},
		"as before the deletion":         {func(c *Consistency) { c.Deleted(state("a", "7")) }, state("a", "7"), true},
		"deletion is visible":            {func(c *Consistency) { c.Deleted(state("a", "7")) }, state("a", "8"), false},
		"released":                       {func(c *Consistency) { c.Released(state("a", "7")) }, state("a", "99"), true},
		"another object of that name":    {func(c *Consistency) { c.Released(state("a", "7")) }, state("b", "9"), false},
		"write of a former object":       {func(c *Consistency) { c.Wrote(state("a", "7")) }, state("b", "3"), false},
		"forgotten":                      {func(c *Consistency) { c.Wrote(state("a", "7")); c.Forget(key) }, state("a", "5"), false},
		"read before the write was seen": {func(c *Consistency) { c.Wrote(state("a", "7")); c.Stale(state("a", "7")) }, state("a", "5"), true},
		"read before it was released":    {func(c *Consistency) { c.Released(state("a", "7")); c.Forget(key) }, state("a", "7"), true},
		"write without number version":   {func(c *Consistency) { c.Wrote(state("a", "x")) }, state("a", "5"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			consistency := &Consistency{}
			c.record(consistency)
			assert.Equal(t, c.stale, consistency.Stale(c.cached))
		})
	}
}

func TestConsistencyUnseen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record func(*Consistency)
		wait   bool
	}{
		"created":                  {func(c *Consistency) { c.Created(state("a", "7")) }, true},
		"created and then written": {func(c *Consistency) { c.Created(state("a", "7")); c.Wrote(state("a", "8")) }, true},
		"written only":             {func(c *Consistency) { c.Wrote(state("a", "7")) }, false},
		"created and deleted":      {func(c *Consistency) { c.Created(state("a", "7")); c.Deleted(state("a", "8")) }, false},
		"created and seen":         {func(c *Consistency) { c.Created(state("a", "7")); c.Stale(state("a", "7")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			consistency := &Consistency{}
			c.record(consistency)
			assert.Equal(t, c.wait, consistency.Unseen(key) > 0)
		})
	}
}

func TestConsistencyKeepsNoWriteForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		consistency := &Consistency{}
		for range 3 {
			for i := range 100 {
				written := state("a", "7")
				written.Name = strconv.Itoa(i)
				consistency.Wrote(written)
			}
			time.Sleep(time.Minute)
		}
		consistency.Wrote(state("a", "7"))
		assert.Len(t, consistency.written, 1)
	})
}

// TestConsistencyTrustsTheCacheInTheEnd has a cache that never shows a write: the object is then taken as it is shown.
func TestConsistencyTrustsTheCacheInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		consistency := &Consistency{}
		consistency.Created(state("a", "7"))
		time.Sleep(4 * time.Second)
		assert.Positive(t, consistency.Unseen(key))
		time.Sleep(2 * time.Second)
		assert.Zero(t, consistency.Unseen(key))

		consistency.Wrote(state("a", "7"))
		time.Sleep(29 * time.Second)
		assert.True(t, consistency.Stale(state("a", "5")))
		time.Sleep(2 * time.Second)
		assert.False(t, consistency.Stale(state("a", "5")))
	})
}
