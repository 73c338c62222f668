// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// productSync installs the product through Flux, from a Git repository with the folders of this checkout.
type productSync struct {
	*scene
	repo  *servers.GitRepo
	files map[string][]byte
}

// TestF07FluxUpdatesAndRemovesTheInstallAndLosesNothing updates from an install that held the CRDs, and then prunes everything that Flux
// installed, as docs/operate/upgrade.md describes it: the CRDs, and with them every object of users, stay.
func TestF07FluxUpdatesAndRemovesTheInstallAndLosesNothing(t *testing.T) {
	t.Parallel()
	s := newProductSync(t)
	s.Target("cluster")
	s.apply(leaf{name: "kept", value: "one", annotations: follows()}.String())
	kept := s.Ended("kept", v1alpha1.PhaseSucceeded)

	old := s.commit("former", "../config/crd", "../flux/install")
	install := s.sync("install", "./former", old)
	definitions := s.sync("definitions", "./flux/crds", old)
	s.awaitApplied(install, s.commit("former", "../flux/install"))
	s.requireThere(s.inherited()...)

	require.NoError(t, s.Client().Delete(s.Ctx, install))
	for _, object := range s.prunable() {
		require.NoError(t, s.AwaitGone(s.Ctx, object), "Flux prunes what it may")
	}
	require.NoError(t, s.AwaitGone(s.Ctx, install))
	require.NoError(t, s.Client().Delete(s.Ctx, definitions))
	require.NoError(t, s.AwaitGone(s.Ctx, definitions))
	s.requireThere(s.inherited()...)
	inst := s.Installation("kept")
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(inst), inst))
	assert.Equal(t, kept.UID, inst.UID)
	assert.Equal(t, kept.Status.JobID, inst.Status.JobID)
	s.requireValue("kept", "one")
}

func newProductSync(t *testing.T) *productSync {
	t.Helper()
	s := &productSync{scene: newScene(t), files: map[string][]byte{}}
	root := os.DirFS("../..")
	for _, dir := range []string{"flux/crds", "flux/install", "config/crd", "config/rbac"} {
		require.NoError(t, fs.WalkDir(root, dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			s.files[path], err = fs.ReadFile(root, path)
			return err
		}))
	}
	var err error
	s.repo, err = s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(t, err)
	return s
}

// commit commits the product with a folder that holds these resources, and returns the revision.
func (s *productSync) commit(folder string, resources ...string) string {
	s.T.Helper()
	s.files[folder+"/kustomization.yaml"] = []byte("resources:\n- " + strings.Join(resources, "\n- ") + "\n")
	revision, err := s.repo.Commit(s.Ctx, "Install the product", s.files)
	require.NoError(s.T, err)
	return revision
}

// sync lets Flux apply a folder, everything in it prunable unless the objects say otherwise, and waits until it did. The Pods of the product
// do not run here.
func (s *productSync) sync(name, path, revision string) *kustomizev1.Kustomization {
	s.T.Helper()
	s.apply(fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: product}
spec: {interval: 2s, url: %q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s}
spec: {interval: 2s, retryInterval: 2s, timeout: 1m, path: %s, prune: true, sourceRef: {kind: GitRepository, name: product}}
`, s.repo.CloneURL, name, path))
	kustomization := &kustomizev1.Kustomization{ObjectMeta: s.Named(name)}
	s.awaitApplied(kustomization, revision)
	return kustomization
}

func (s *productSync) awaitApplied(kustomization *kustomizev1.Kustomization, revision string) {
	s.T.Helper()
	require.NoError(s.T, s.Await(s.Ctx, kustomization, func() bool {
		return kustomization.Status.LastAppliedRevision == revision && conditions.IsTrue(kustomization, meta.ReadyCondition)
	}))
}

// prunable is a part of what goes with the install.
func (s *productSync) prunable() []client.Object {
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ls-system", Name: "landscaper-controller"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "landscaper:controller"}},
	}
}

// inherited is what stays: without it the objects of users would go.
func (s *productSync) inherited() []client.Object {
	s.T.Helper()
	stay := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ls-system"}}}
	for path := range s.files {
		if name, isBase := strings.CutPrefix(path, "config/crd/bases/"); isBase {
			group, plural, _ := strings.Cut(strings.TrimSuffix(name, ".yaml"), "_")
			stay = append(stay, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group}})
		}
	}
	require.Greater(s.T, len(stay), 5)
	return stay
}

func (s *productSync) requireThere(objects ...client.Object) {
	s.T.Helper()
	for _, object := range objects {
		require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(object), object))
		require.Nil(s.T, object.GetDeletionTimestamp(), object.GetName())
	}
}
