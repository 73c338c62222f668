// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

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
		}, 1, errLost},
		"an interrupt": {func(ctx context.Context, c client.Client, item *v1alpha1.DeployItem) error {
			item.Status.JobIDFinished = "1"
			return c.Status().Update(ctx, item)
		}, 1, errLost},
		"its end": {func(ctx context.Context, c client.Client, item *v1alpha1.DeployItem) error {
			return c.Delete(ctx, item)
		}, 1, errLost},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := writing(t)
			require.NoError(t, tc.change(t.Context(), r.client, s.item.DeepCopy()))
			calls := 0
			err := r.fenced(t.Context(), s, func(current *v1alpha1.DeployItem) error {
				calls++
				current.Status.Phase = v1alpha1.PhaseSucceeded
				return r.writeStatus(t.Context(), current)
			})
			assert.Equal(t, tc.calls, calls)
			assert.Equal(t, tc.want, err)
			stored := &v1alpha1.DeployItem{}
			if err := r.live.Get(t.Context(), s.key(), stored); !apierrors.IsNotFound(err) {
				require.NoError(t, err)
				assert.Equal(t, tc.want == nil, stored.Status.Phase == v1alpha1.PhaseSucceeded)
			}
		})
	}
}

func TestOtherErrorsOfAWriteAreReturned(t *testing.T) {
	r, s := writing(t)
	denied := errors.New("denied")
	assert.Equal(t, denied, r.fenced(t.Context(), s, func(*v1alpha1.DeployItem) error { return denied }))
}

// writing returns the pass of an item that runs a job, on an API server in memory.
func writing(t *testing.T) (*reconciler, *scope) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.DeployItem{}).Build()
	item := &v1alpha1.DeployItem{}
	item.Namespace, item.Name, item.UID, item.Status.JobID = "ns", "item", "uid", "1"
	require.NoError(t, c.Create(t.Context(), item))
	running := &jobs{released: func(*job) {}}
	return &reconciler{client: c, live: c}, &scope{item: item, job: running.Claim(item, time.Now(), plan{})}
}
