// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
)

// loseRelease deletes the records of the item's release, as happens to those of a namespace that is deleted.
func (f *fixture) loseRelease() {
	f.Helper()
	require.NoError(f, f.cluster.Client.DeleteAllOf(f.ctx, &corev1.Secret{}, client.InNamespace(f.namespace), client.MatchingLabels{"owner": "helm", "name": "hello-world"}))
	require.Nil(f, f.release())
}

// clusterWide is a chart with a role for the whole cluster, and two objects of the namespace.
func (f *fixture) clusterWide() map[string]string {
	return map[string]string{
		"templates/role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: '" + f.namespace + ":all'}\n",
		"templates/a.yaml":    named("a"), "templates/b.yaml": named("b"),
	}
}

func (f *fixture) hasWideRole() bool {
	f.Helper()
	err := f.cluster.Client.Get(f.ctx, client.ObjectKey{Name: f.namespace + ":all"}, &rbacv1.ClusterRole{})
	require.NoError(f, client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err)
}

func TestTheObjectsOfALostReleaseAreDeletedWithTheItem(t *testing.T) {
	f := newFixture(t)
	f.configure(f.with(f.clusterWide(), nil))
	f.succeed(f.deployer())
	f.loseRelease()
	f.remove(f.deployer())
	assert.False(t, f.hasWideRole())
	assert.True(t, f.isGone("a") && f.isGone("b"))
	assert.Empty(t, f.tryRemove().Warning, "a deletion that is repeated")
}

func TestTheDeletionOfALostReleaseSaysWhatStays(t *testing.T) {
	f := newFixture(t)
	f.configure(f.with(f.clusterWide(), nil))
	f.succeed(f.deployer())
	f.loseRelease()
	unmarked := &corev1.ConfigMap{}
	require.NoError(t, f.get("a", unmarked))
	unmarked.Labels, unmarked.Annotations = nil, nil
	require.NoError(t, f.cluster.Client.Update(f.ctx, unmarked))
	taken := &corev1.ConfigMap{}
	require.NoError(t, f.get("b", taken))
	taken.Annotations["meta.helm.sh/release-name"] = "another"
	require.NoError(t, f.cluster.Client.Update(f.ctx, taken))
	outcome := f.tryRemove()
	require.True(t, outcome.Done)
	assert.Equal(t, "the target has no record of helm release "+f.namespace+"/hello-world any more, and 1 of its objects stay, because they do not carry its "+
		"marks; delete them by hand: ConfigMap "+f.namespace+"/a", outcome.Warning)
	assert.False(t, f.hasWideRole())
	assert.False(t, f.isGone("a") || f.isGone("b"))
}

func TestWhatALostReleaseHadAndTheNextHasNotGoes(t *testing.T) {
	for name, next := range map[string]config{"as a release": {}, "without a release": {"helmDeployment": false}, "under another name": {"name": "renamed"}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.configure(f.with(f.clusterWide(), nil))
			f.succeed(f.deployer())
			before := &corev1.ConfigMap{}
			require.NoError(t, f.get("b", before))
			f.loseRelease()
			content := f.with(map[string]string{"templates/b.yaml": named("b"), "templates/c.yaml": named("c")}, nil)
			for key, value := range next {
				content[key] = value
			}
			f.next(content)
			f.succeed(f.deployer())
			assert.False(t, f.hasWideRole())
			assert.True(t, f.isGone("a"))
			after := &corev1.ConfigMap{}
			require.NoError(t, f.get("b", after))
			assert.Equal(t, before.UID == after.UID, next["name"] == nil)
			f.remove(f.deployer())
			assert.True(t, f.isGone("b") && f.isGone("c"))
		})
	}
}

// TestAFailedJobAfterALossForgetsNothing fails the job that makes the release anew, in a chart with an object that the API server refuses.
func TestAFailedJobAfterALossForgetsNothing(t *testing.T) {
	f := newFixture(t)
	f.configure(f.with(f.clusterWide(), nil))
	f.succeed(f.deployer())
	f.loseRelease()
	f.next(f.with(map[string]string{"templates/z.yaml": named("Refused")}, nil))
	f.fail(f.deployer())
	require.NotNil(t, f.release())
	assert.Equal(t, engine.StatusFailed, f.release().Status)
	f.remove(f.deployer())
	assert.False(t, f.hasWideRole())
	assert.True(t, f.isGone("a") && f.isGone("b"))
}
