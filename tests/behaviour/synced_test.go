// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// synced is a landscape in Git that Flux syncs every two seconds.
type synced struct {
	*scene
	repo *servers.GitRepo
}

// newSynced commits Installations and lets Flux apply them, with a Target beside them.
func newSynced(t *testing.T, leaves ...leaf) *synced {
	t.Helper()
	s := &synced{scene: newScene(t)}
	var err error
	s.repo, err = s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(t, err)
	s.Target("cluster")
	s.commit(leaves...)
	s.apply(fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: landscape}
spec: {interval: 2s, url: %q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: landscape}
spec:
  interval: 2s
  retryInterval: 2s
  timeout: 15s
  path: ./
  prune: true
  wait: true
  targetNamespace: %s
  sourceRef: {kind: GitRepository, name: landscape}
`, s.repo.CloneURL, s.Namespace))
	return s
}

// commit commits Installations, one file each.
func (s *synced) commit(leaves ...leaf) string {
	s.T.Helper()
	files := map[string][]byte{}
	for _, leaf := range leaves {
		files[leaf.name+".yaml"] = []byte(leaf.String())
	}
	revision, err := s.repo.Commit(s.Ctx, "Change the landscape", files)
	require.NoError(s.T, err)
	return revision
}

func (s *synced) kustomization() *kustomizev1.Kustomization {
	return &kustomizev1.Kustomization{ObjectMeta: s.Named("landscape")}
}

// awaitSynced waits until the Kustomization is Ready with a revision.
func (s *synced) awaitSynced(revision string) {
	s.T.Helper()
	kustomization := s.kustomization()
	require.NoError(s.T, s.Await(s.Ctx, kustomization, func() bool {
		return kustomization.Status.LastAppliedRevision == revision && conditions.IsTrue(kustomization, meta.ReadyCondition)
	}))
}

// awaitSyncs waits until Flux has applied the landscape so many times more.
func (s *synced) awaitSyncs(count int64) {
	s.T.Helper()
	kustomization := s.kustomization()
	first := int64(-1)
	require.NoError(s.T, s.Await(s.Ctx, kustomization, func() bool {
		total := int64(0)
		for _, snapshot := range kustomization.Status.History {
			total += snapshot.TotalReconciliations
		}
		if first < 0 {
			first = total
		}
		return total >= first+count
	}))
}
