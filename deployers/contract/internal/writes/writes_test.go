// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
)

// TestWhichWritesOfAJobAreRepeated changes the item between the read of a job and its first write.
func TestWhichWritesOfAJobAreRepeated(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(ctx context.Context, c client.Client, item *v1alpha1.DeployItem) error
		calls  int
		want   error
	}{
		"nothing": {func(context.Context, client.Client, *v1alpha1.DeployItem) error { return nil }, 1, nil},
		"its metadata": {func(ctx context.Context, c client.Client, item *v1alpha1.DeployItem) error {
			item.Labels = map[string]string{"a": "b"}
			return c.Update(ctx, item)
		}, 2, nil},
		"a newer job": {func(ctx context.Context, c client.Client, item *v1alpha1.DeployItem) error {
			item.Status.JobID = "2"
			return c.Status().Update(ctx, item)
		}, 1, ErrLost},
		"an interrupt": {func(ctx context.Context, c client.Client, item *v1alpha1.DeployItem) error {
			item.Status.JobIDFinished = "1"
			return c.Status().Update(ctx, item)
		}, 1, ErrLost},
		"its end": {func(ctx context.Context, c client.Client, item *v1alpha1.DeployItem) error {
			return c.Delete(ctx, item)
		}, 1, ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			w, item, job := writing(t)
			require.NoError(t, tc.change(t.Context(), w.Client, item.DeepCopy()))
			calls := 0
			err := w.Fenced(t.Context(), &item, job, func(current *v1alpha1.DeployItem) error {
				calls++
				current.Status.Phase = v1alpha1.PhaseSucceeded
				return w.Status(t.Context(), current)
			})
			assert.Equal(t, tc.calls, calls)
			assert.Equal(t, tc.want, err)
			stored := &v1alpha1.DeployItem{}
			if err := w.Live.Get(t.Context(), client.ObjectKeyFromObject(item), stored); !apierrors.IsNotFound(err) {
				require.NoError(t, err)
				assert.Equal(t, tc.want == nil, stored.Status.Phase == v1alpha1.PhaseSucceeded)
			}
		})
	}
}

func TestOtherErrorsOfAWriteAreReturned(t *testing.T) {
	w, item, job := writing(t)
	denied := errors.New("denied")
	assert.Equal(t, denied, w.Fenced(t.Context(), &item, job, func(*v1alpha1.DeployItem) error { return denied }))
}

// writing returns an item that runs a job, on an API server in memory.
func writing(t *testing.T) (*Writer, *v1alpha1.DeployItem, *jobs.Job) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.DeployItem{}).Build()
	item := &v1alpha1.DeployItem{}
	item.Namespace, item.Name, item.UID, item.Status.JobID = "ns", "item", "uid", "1"
	require.NoError(t, c.Create(t.Context(), item))
	running := &jobs.Jobs{Released: func(*jobs.Job) {}}
	return &Writer{Client: c, Live: c}, item, running.Claim(item, time.Now(), jobs.Plan{})
}
