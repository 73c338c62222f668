// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// TestAPrunedItemWithoutExecutionIsUninstalled takes a DeployItem out of Git whose operation test-reconcile is kept there: it gives the deletion its job.
func TestAPrunedItemWithoutExecutionIsUninstalled(t *testing.T) {
	t.Parallel()
	s := newSynced(t)
	commit := func(content []byte) {
		t.Helper()
		_, err := s.repo.Commit(s.Ctx, "Change the item", map[string][]byte{"item.yaml": content})
		require.NoError(t, err)
	}
	commit([]byte(s.typed("kubernetes-manifest")))
	item := s.directItem(func(item *v1alpha1.DeployItem) bool { return item.Status.IsIdle() && item.Status.JobID != "" })
	require.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	require.True(t, s.has("of-kubernetes-manifest"))

	commit(nil)

	s.Gone(item)
	requireGone(s.Ctx, t, s.Cluster, &corev1.ConfigMap{}, s.Namespace, "of-kubernetes-manifest")
}
