// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// shownManifests are the manifests of a page, in order.
func shownManifests(t *testing.T, page string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	require.NoError(t, err)
	var manifests []string
	for _, block := range regexp.MustCompile("(?s)\n```yaml\n(.*?)```\n").FindAllStringSubmatch(string(content), -1) {
		manifests = append(manifests, block[1])
	}
	return manifests
}

// documented is a landscape in Git that the first manifests of docs/flux.md apply: a Kustomization, an Installation, a Kustomization with health checks.
// Those after them are about notifications.
func documented(t *testing.T) (s *synced, kustomization, installation, impatient string) {
	t.Helper()
	shown := shownManifests(t, "flux.md")
	require.GreaterOrEqual(t, len(shown), 3)
	for i, kind := range []string{"kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization", "landscaper.gardener.cloud/v1alpha1\nkind: Installation",
		"kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization"} {
		require.Contains(t, shown[i], kind)
	}
	s = &synced{scene: newScene(t)}
	var err error
	s.repo, err = s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(t, err)
	s.Target("cluster")
	s.apply(fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: landscape}\n"+
		"spec: {interval: 2s, url: %q, ref: {branch: main}}\n", s.repo.CloneURL))
	here := strings.NewReplacer("namespace: shop", "namespace: "+s.Namespace, "namespace: flux-system", "namespace: "+s.Namespace,
		"retryInterval: 1m", "retryInterval: 2s")
	return s, here.Replace(shown[0]), here.Replace(shown[1]), here.Replace(shown[2])
}

func TestDocumentedKustomizations(t *testing.T) {
	t.Parallel()
	t.Run("substitution and order", func(t *testing.T) {
		t.Parallel()
		s, kustomization, installation, _ := documented(t)
		_, err := s.repo.Commit(s.Ctx, "Add the page", map[string][]byte{
			"landscape/notes.yaml": []byte(installation),
			"product/name.yaml":    []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: product}\n"),
		})
		require.NoError(t, err)
		s.apply(kustomization, "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: landscaper}\n"+
			"spec: {interval: 10m, path: ./product, prune: true, targetNamespace: "+s.Namespace+", sourceRef: {kind: GitRepository, name: landscape}}\n")
		require.NoError(t, s.AwaitReady(s.Ctx, &kustomizev1.Kustomization{ObjectMeta: s.Named("shop")}))
		require.Equal(t, map[string]string{"region": "north", "script": "echo ${HOME}"}, s.Config("notes"))
		s.RequireJobs(1, "notes")
	})
	t.Run("health checks", func(t *testing.T) {
		t.Parallel()
		s, _, _, impatient := documented(t)
		_, err := s.repo.Commit(s.Ctx, "Add an Installation that waits", map[string][]byte{
			"landscape/late.yaml": []byte(strings.Replace(leaf{name: "late", value: "1", target: "later", annotations: follows()}.String(),
				"  name: late\n", "  name: late\n  namespace: "+s.Namespace+"\n", 1)),
		})
		require.NoError(t, err)
		s.apply(impatient)
		found := &kustomizev1.Kustomization{ObjectMeta: s.Named("impatient")}
		require.NoError(t, s.Await(s.Ctx, found, func() bool {
			return conditions.IsFalse(found, meta.ReadyCondition) &&
				strings.Contains(conditions.GetMessage(found, meta.ReadyCondition), "Installation/"+s.Namespace+"/late status: 'Failed'")
		}))
		failed := s.Ended("late", v1alpha1.PhaseFailed)
		require.True(t, conditions.IsReconciling(failed), "it may heal: without the health check Flux would wait")

		s.Target("later")
		require.NoError(t, s.AwaitReady(s.Ctx, found))
		s.requireValue("late", "1")
	})
}

// TestAFixDoesNotWaitForABrokenRevision has the Kustomization of the page, which would wait for five minutes.
func TestAFixDoesNotWaitForABrokenRevision(t *testing.T) {
	t.Parallel()
	s, kustomization, _, _ := documented(t)
	_, _, found := strings.Cut(kustomization, "timeout: 5m")
	require.True(t, found)
	kustomization = regexp.MustCompile(`(?s)  dependsOn:.*?(  interval:)`).ReplaceAllString(kustomization, "$1")
	commit := func(target string) {
		_, err := s.repo.Commit(s.Ctx, "Use the Target "+target, map[string][]byte{
			"landscape/one.yaml": []byte(strings.Replace(leaf{name: "one", value: "1", target: target, annotations: follows()}.String(),
				"  name: one\n", "  name: one\n  namespace: "+s.Namespace+"\n", 1)),
		})
		require.NoError(t, err)
	}
	commit("misspelled")
	s.apply(kustomization)
	shop := &kustomizev1.Kustomization{ObjectMeta: s.Named("shop")}
	require.NoError(t, s.Await(s.Ctx, shop, func() bool {
		return strings.Contains(conditions.GetMessage(shop, meta.ReconcilingCondition), "health checks")
	}))

	begun := time.Now()
	commit("cluster")

	require.NoError(t, s.AwaitReady(s.Ctx, shop))
	require.Less(t, time.Since(begun), 4*time.Minute, "the broken revision has not had its timeout")
	s.requireValue("one", "1")
}
