// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

// refresh reads the item as it is stored.
func (f *fixture) refresh() {
	f.Helper()
	stored := &v1alpha1.DeployItem{}
	require.NoError(f, f.platform.Client().Get(f.ctx, client.ObjectKeyFromObject(f.item), stored))
	f.item = stored
}

// wipe removes the status of the item, as a restore without status does.
func (f *fixture) wipe() {
	f.Helper()
	f.refresh()
	f.item.Status = v1alpha1.DeployItemStatus{}
	require.NoError(f, f.platform.Client().Status().Update(f.ctx, f.item))
}

func TestAStandaloneItemWithoutStatusIsUninstalled(t *testing.T) {
	f := newFixture(t)
	f.serve()
	f.createItem(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})}, testTimeout)
	f.request()
	require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)
	f.wipe()

	require.NoError(t, f.platform.Client().Delete(f.ctx, f.item))
	f.refresh()
	f.request()
	require.NoError(t, f.platform.AwaitGone(f.ctx, f.item))

	f.isEmpty()
}

func TestTheNextJobOfAStandaloneItemWithoutStatusFindsItsRelease(t *testing.T) {
	f := newFixture(t)
	f.serve()
	chart := f.chart("1.0.0", map[string]string{"a": named("a")})
	f.createItem(config{"chart": chart}, testTimeout)
	f.request()
	require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)
	kept := &corev1.ConfigMap{}
	require.NoError(t, f.get("a", kept))
	f.wipe()

	f.request()

	require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)
	found := &corev1.ConfigMap{}
	require.NoError(t, f.get("a", found))
	assert.Equal(t, kept.UID, found.UID)
	assert.Equal(t, 1, f.release().Revision)
	assert.False(t, contract.HasLostRecord(f.item))
}
