// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

const claimManifest = `{"manifest": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "shared", "namespace": "NS"}}}`

func TestWhatHoldsDataIsPassedOn(t *testing.T) {
	for name, test := range map[string]struct {
		sibling func(b *bench) *v1alpha1.DeployItem
		passed  bool
	}{
		"manifests have it": {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner(claimManifest) }, true},
		"manifests keep it": {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner(`{"policy": "keep", ` + claimManifest[1:]) }, true},
		"manifests ignore it": {func(b *bench) *v1alpha1.DeployItem {
			return b.manifestOwner(`{"policy": "ignore", ` + claimManifest[1:])
		}, false},
		"manifests have others":  {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner(sharedManifest) }, false},
		"item is being deleted":  {func(b *bench) *v1alpha1.DeployItem { return deleted(b.manifestOwner(claimManifest)) }, false},
		"manifests are broken":   {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner(`"shared"`) }, false},
		"item of another Target": {func(b *bench) *v1alpha1.DeployItem { return targeting(b.manifestOwner(claimManifest), "other") }, false},
		"item of no Target": {func(b *bench) *v1alpha1.DeployItem {
			item := b.manifestOwner(claimManifest)
			item.Spec.Target = nil
			return item
		}, false},
		"item of another namespace": {func(b *bench) *v1alpha1.DeployItem {
			item := targeting(b.manifestOwner(claimManifest), "test")
			item.Namespace = "another-tenant"
			return item
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			sibling := test.sibling(b)
			if name != "item of no Target" && sibling.Spec.Target == nil {
				sibling = targeting(sibling, b.Cluster.Name)
			}
			b.landscape(sibling)
			b.Siblings = b.DeployItems
			claim := b.object(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared, namespace: %[1]s},
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
			applied := b.apply("", nil, manage(claim))

			progress, err := b.Delete(t.Context(), applied.Managed, nil)

			require.NoError(t, err)
			if !test.passed {
				b.awaitGone(claim)
				return
			}
			assert.True(t, progress.Done())
			next := &resources.Session{Cluster: b.Cluster, Owner: resources.Owner{Item: sibling.Name, Namespace: sibling.Namespace, UID: sibling.UID}}
			live := b.live(claim)
			assert.Equal(t, resources.Own, next.Owner.ClaimOf(live))
			assert.Equal(t, name == "manifests have it", next.Owner.Proven(live), "what is kept carries no UID")
		})
	}
}

func targeting(item *v1alpha1.DeployItem, target string) *v1alpha1.DeployItem {
	item.Spec.Target = &v1alpha1.DeployItemTarget{Name: target}
	return item
}

func TestOtherKindsAskForNoHeir(t *testing.T) {
	b := newBench(t)
	b.landscape()
	b.Siblings = interceptor.NewClient(b.DeployItems.(crclient.WithWatch), interceptor.Funcs{
		List: func(context.Context, crclient.WithWatch, crclient.ObjectList, ...crclient.ListOption) error {
			t.Error("siblings are listed")
			return nil
		},
	})
	applied := b.apply("", nil, manage(b.configMap("one", "a", "1")))
	b.sent()

	b.delete(applied.Managed, nil)

	assert.Equal(t, []string{"GET", "DELETE"}, b.sent())
}
