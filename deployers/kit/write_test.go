// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
