// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// TestPrunedTargetOutlivesUninstall deletes a landscape as Flux does: Installation, Target and its Secret at the same moment.
func TestPrunedTargetOutlivesUninstall(t *testing.T) {
	t.Parallel()
	s := newSynced(t)
	revision, err := s.repo.Commit(s.Ctx, "Deploy with a target of Git", map[string][]byte{
		"target.yaml": fmt.Appendf(nil, `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata: {name: pruned}
spec:
  type: landscaper.gardener.cloud/kubernetes-cluster
  secretRef: {name: access, key: kubeconfig}
---
apiVersion: v1
kind: Secret
metadata: {name: access}
stringData: {kubeconfig: %q}
`, s.DeployerAccess()),
		"app.yaml": []byte(leaf{name: "app", value: "one", annotations: follows(), target: "pruned"}.String()),
	})
	require.NoError(t, err)
	s.awaitSynced(revision)
	config := &corev1.ConfigMap{ObjectMeta: s.Named("app")}
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(config), config))
	target := &v1alpha1.Target{ObjectMeta: s.Named("pruned")}
	require.NoError(t, s.Await(s.Ctx, target, func() bool { return len(target.Finalizers) == 1 }))

	require.NoError(t, s.Client().Delete(s.Ctx, s.kustomization()))
	for _, object := range []client.Object{
		s.Installation("app"), target, config, &corev1.Secret{ObjectMeta: s.Named("access")},
	} {
		require.NoError(t, s.AwaitGone(s.Ctx, object))
	}
}

// TestTargetDeletedByHandGoesAtOnce keeps what users of Gardener Landscaper see: only what Flux applies is protected.
func TestTargetDeletedByHandGoesAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	s.apply(leaf{name: "app", value: "one", annotations: follows()}.String())
	s.Ended("app", v1alpha1.PhaseSucceeded)
	target := &v1alpha1.Target{ObjectMeta: s.Named("cluster")}
	require.NoError(t, s.Client().Delete(s.Ctx, target))
	require.NoError(t, s.AwaitGone(s.Ctx, target))
}
