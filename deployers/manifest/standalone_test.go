// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

// wipe removes the status of an item, as a restore without status does.
func (s *served) wipe(item *v1alpha1.DeployItem) {
	s.t.Helper()
	require.NoError(s.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.p.Client().Get(s.t.Context(), client.ObjectKeyFromObject(item), item); err != nil {
			return err
		}
		item.Status = v1alpha1.DeployItemStatus{}
		return s.p.Client().Status().Update(s.t.Context(), item)
	}))
}

// specify changes the configuration of an item.
func (s *served) specify(item *v1alpha1.DeployItem, config string) {
	s.t.Helper()
	base := item.DeepCopy()
	item.Spec.Configuration = s.config(config)
	require.NoError(s.t, s.p.Client().Patch(s.t.Context(), item, client.MergeFrom(base)))
}

// exists reports whether a ConfigMap is on the target.
func (s *served) exists(name string) bool {
	s.t.Helper()
	found := s.configMap(name)
	err := s.p.Client().Get(s.t.Context(), client.ObjectKeyFromObject(found), found)
	require.NoError(s.t, client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err)
}

func TestAStandaloneItemWithoutStatusIsUninstalled(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(manifests("1", "a", "dropped"))
	s.finish(item)
	s.specify(item, manifests("1", "a")) // no job has seen this
	s.wipe(item)

	require.NoError(t, s.p.Client().Delete(t.Context(), item))
	s.begin(item)
	require.NoError(t, s.p.AwaitGone(t.Context(), item))

	assert.False(t, s.exists("a"))
	assert.False(t, s.exists("dropped"))
}

func TestTheNextJobOfAStandaloneItemWithoutStatusFindsItsObjects(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(manifests("1", "a", "dropped"))
	s.finish(item)
	kept := s.configMap("a")
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(kept), kept))
	s.wipe(item)
	s.specify(item, manifests("1", "a"))

	s.begin(item)
	s.finish(item)

	found := s.configMap("a")
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(found), found))
	assert.Equal(t, kept.UID, found.UID)
	assert.Equal(t, kept.ResourceVersion, found.ResourceVersion)
	assert.False(t, s.exists("dropped"))
	assert.False(t, contract.HasLostRecord(item))
}

// TestAStandaloneItemThatNeverReachedItsTargetGoesWithoutIt has nothing to look for.
func TestAStandaloneItemThatNeverReachedItsTargetGoesWithoutIt(t *testing.T) {
	t.Parallel()
	s := serveAs(t, func(*rest.Config) *rest.Config { return &rest.Config{Host: "https://127.0.0.1:1"} })
	item := s.createFor(manifests("1", "a"), time.Second)
	s.await(item, func() bool { return item.Status.JobID == item.Status.JobIDFinished })
	require.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	require.False(t, contract.HasLostRecord(item))

	require.NoError(t, s.p.Client().Delete(t.Context(), item))
	s.begin(item)

	require.NoError(t, s.p.AwaitGone(t.Context(), item))
}

// TestAStandaloneItemWithoutStatusAndFinalizerLeavesWhatItHasDeployed shows the limit: nothing says that there ever was a job.
func TestAStandaloneItemWithoutStatusAndFinalizerLeavesWhatItHasDeployed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(manifests("1", "a"))
	s.finish(item)
	s.wipe(item)
	item.Finalizers = nil
	require.NoError(t, s.p.Client().Update(t.Context(), item))

	require.NoError(t, s.p.Client().Delete(t.Context(), item))
	require.NoError(t, s.p.AwaitGone(t.Context(), item))

	assert.True(t, s.exists("a"))
}
