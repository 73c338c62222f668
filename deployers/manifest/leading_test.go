// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// search lets the deployer look for Targets by address, as the contract does.
func (m *move) search() *move {
	m.item.Targets = func(_ context.Context, name string) (*target.Cluster, error) {
		if m.targets[name] == nil {
			return nil, &target.Error{Reason: target.ReasonNotFound}
		}
		return m.targets[name], nil
	}
	m.item.Leading = func(_ context.Context, address string) ([]*target.Cluster, error) {
		var found []*target.Cluster
		for _, name := range slices.Sorted(maps.Keys(m.targets)) {
			if cluster := m.targets[name]; cluster != nil && cluster.Address() == address {
				found = append(found, cluster)
			}
		}
		return found, nil
	}
	return m
}

func TestAFormerClusterIsLeftByAnotherTargetThatLeadsThere(t *testing.T) {
	m := newMove(t).search()
	m.configure(manifests("1", "a"))
	m.succeed()
	m.lead("another", m.first)
	m.lead("one", m.second)
	m.use("one")
	m.configure(manifests("1", "a"))

	outcome := m.succeed()

	assert.Empty(t, outcome.Warning)
	assert.False(t, m.has(m.first, "a"))
	assert.True(t, m.has(m.second, "a"))
	assert.Zero(t, m.sites())
}

func TestADeletionWithoutItsTargetUsesAnotherThatLeadsThere(t *testing.T) {
	tests := map[string]struct {
		lose func(*move)
	}{
		"Target gone":            {func(m *move) { delete(m.targets, "one"); m.item.Target = nil }},
		"Target leads elsewhere": {func(m *move) { m.lead("one", m.second); m.use("one") }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMove(t).search()
			m.configure(manifests("1", "a"))
			m.succeed()
			m.lead("another", m.first)
			test.lose(m)

			m.vanish()

			assert.False(t, m.has(m.first, "a"))
		})
	}
}

func TestADeletionAfterADeathFindsAnotherTarget(t *testing.T) {
	m := newMove(t).search()
	m.configure(manifests("1", "a"))
	_, err := m.deployer.Ensure(t.Context(), m.item) // the status is lost
	require.NoError(t, err)
	require.True(t, m.has(m.first, "a"))
	m.die()
	m.lead("another", m.first)
	delete(m.targets, "one")
	m.item.Target = nil

	m.vanish()

	assert.False(t, m.has(m.first, "a"))
}

func TestADeletionWithoutAnyTargetThatLeadsThereChangesNothing(t *testing.T) {
	m := newMove(t).search()
	m.configure(manifests("1", "a"))
	m.succeed()
	delete(m.targets, "one")
	m.item.Target = nil

	outcome, err := m.remove()

	require.ErrorContains(t, err, "cannot uninstall 1 objects from cluster ")
	assert.Nil(t, outcome.ProviderStatus)
	assert.True(t, m.has(m.first, "a"))
}

func TestAFormerClusterIsLeftByTheTargetThatMayDoIt(t *testing.T) {
	m, between := leaving(t)
	m.search()
	between.answer = refuse(http.StatusUnauthorized, "Unauthorized")
	m.lead("another", m.targets["one"])
	m.lead("last", m.first)
	m.lead("one", m.second)

	outcome := m.succeed()

	assert.Empty(t, outcome.Warning)
	assert.False(t, m.has(m.first, "a"))
}
