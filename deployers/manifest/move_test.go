// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// second is a cluster that is started once for all tests that move items.
var second struct {
	sync.Once
	cluster *platform.Cluster
	err     error
}

func secondCluster(p *platform.Platform) (*platform.Cluster, error) {
	second.Do(func() {
		second.cluster, second.err = p.SecondCluster(context.Background(), "second", platform.Options{})
	})
	return second.cluster, second.err
}

// move is a life between two clusters. Targets says where the Targets lead, by name.
type move struct {
	*life
	first, second *target.Cluster
	targets       map[string]*target.Cluster
}

func newMove(t *testing.T) *move {
	t.Helper()
	l := newLife(t)
	cluster, err := secondCluster(platform.Shared(t))
	require.NoError(t, err)
	m := &move{life: l, first: open(t, platform.Shared(t).RestConfig), second: open(t, cluster.RestConfig), targets: map[string]*target.Cluster{}}
	require.NoError(t, m.second.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}))
	l.item.Targets = func(_ context.Context, name string) (*target.Cluster, error) {
		if m.targets[name] == nil {
			return nil, fmt.Errorf("Target %s does not exist", name)
		}
		return m.targets[name], nil
	}
	m.lead("one", m.first)
	m.lead("two", m.second)
	m.use("one")
	return m
}

// lead makes a Target lead to a cluster.
func (m *move) lead(name string, cluster *target.Cluster) {
	named := *cluster
	named.Name = name
	m.targets[name] = &named
}

// use makes the item name a Target.
func (m *move) use(name string) { m.item.Target = m.targets[name] }

func (m *move) has(cluster *target.Cluster, name string) bool {
	m.t.Helper()
	err := cluster.Client.Get(m.t.Context(), crclient.ObjectKey{Namespace: m.namespace, Name: name}, &corev1.ConfigMap{})
	require.NoError(m.t, crclient.IgnoreNotFound(err))
	return err == nil
}

// sites counts the sites of the recorded inventory.
func (m *move) sites() int {
	m.t.Helper()
	recorded, err := status(m.item.DeployItem)
	require.NoError(m.t, err)
	return len(inventoryOf(recorded).Sites)
}

func TestD19ChangedTargetLeavesNothingBehind(t *testing.T) {
	m := newMove(t)
	m.configure(manifests("1", "a", "b"))
	m.succeed()
	m.use("two")
	m.configure(manifests("1", "a"))
	assert.True(t, m.has(m.first, "a"), "nothing goes before the job runs")

	outcome := m.succeed()

	assert.Empty(t, outcome.Warning)
	assert.False(t, m.has(m.first, "a") || m.has(m.first, "b"))
	assert.True(t, m.has(m.second, "a"))
	assert.Zero(t, m.sites())
	m.vanish()
	assert.False(t, m.has(m.second, "a"))
}

func TestD19TargetThatLeadsToAnotherClusterIsReported(t *testing.T) {
	m := newMove(t)
	m.configure(manifests("1", "a"))
	m.succeed()
	m.lead("one", m.second)
	m.use("one")
	m.configure(manifests("1", "a"))

	outcome := m.succeed()

	assert.Contains(t, outcome.Warning, "cannot uninstall 1 objects from cluster ")
	assert.Contains(t, outcome.Warning, "of Target one: the Target leads to another cluster now")
	assert.Equal(t, 1, m.sites(), "it is not forgotten")

	_, err := m.remove()
	require.ErrorContains(t, err, "the Target leads to another cluster now")
	assert.False(t, m.has(m.second, "a"), "what can be reached goes")

	m.lead("one", m.first)
	m.use("one")
	m.vanish()
	assert.False(t, m.has(m.first, "a"))
}

func TestD19ItemThatComesBackFindsItsObjects(t *testing.T) {
	m := newMove(t)
	m.configure(manifests("1", "a", "left"))
	m.succeed()
	m.lead("one", m.second)
	m.use("one")
	m.configure(manifests("1", "a"))
	m.succeed()
	m.lead("one", m.first)
	m.use("one")
	m.configure(manifests("1", "a"))

	m.succeed()

	assert.True(t, m.has(m.first, "a"))
	assert.False(t, m.has(m.first, "left"))
	assert.Equal(t, 1, m.sites(), "the second cluster cannot be reached now")
	m.targets["one"] = nil
	m.lead("one", m.second)
	m.use("one")
	m.configure(manifests("1"))
	m.succeed()
	assert.False(t, m.has(m.second, "a"))
}

func TestD19DeathOnAnotherClusterLeavesNothingBehind(t *testing.T) {
	m := newMove(t)
	m.configure(manifests("1", "a"))
	m.succeed()
	m.use("two")
	m.configure(manifests("1", "a", "lost"))
	m.killed()
	assert.True(t, m.has(m.second, "lost"))
	m.use("one")
	m.configure(manifests("1", "a"))

	m.succeed()

	assert.False(t, m.has(m.second, "a") || m.has(m.second, "lost"))
	assert.True(t, m.has(m.first, "a"))
	m.vanish()
	assert.False(t, m.has(m.first, "a"))
}

func TestD03ObjectsOfFailedJobsAreRecorded(t *testing.T) {
	m := newMove(t)
	m.configure(manifests("1", "a"))
	m.succeed()
	m.configure(manifests("2", "a", "b") + "- {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: nowhere}}}\n")
	_, err := m.ensure()
	require.Error(t, err)
	assert.True(t, m.has(m.first, "b"))
	m.configure(manifests("3", "a"))

	m.succeed()

	assert.False(t, m.has(m.first, "b"))
	assert.Zero(t, m.sites())
}

func TestDeletionAfterTheTargetOfTheItemIsGone(t *testing.T) {
	m := newMove(t)
	m.configure(manifests("1", "a"))
	m.succeed()
	m.item.Target, m.item.TargetProblem = nil, fmt.Errorf("Target three does not exist")

	m.vanish()

	assert.False(t, m.has(m.first, "a"), "the recorded Target leads there")
}

func TestD13DeletionGroupsOfTheLastValidConfigurationCount(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a") + "deletionGroups: [{predefinedResourceGroup: {type: empty}}]\n")
	l.succeed()
	l.configure(manifests("1", "a") + "deletionGroups: [{predefinedResourceGroup: {type: nonsense}}]\n")
	l.vanish()
	assert.True(t, l.exists("a"), "the group empty was in force")
}

// The plan of the job that died says which cluster it was made for, so that another one is not taken for that.
func TestTargetThatLeadsElsewhereAfterADeath(t *testing.T) {
	m := newMove(t)
	m.configure(manifests("1", "a"))
	m.killed()
	m.lead("one", m.second)
	m.use("one")
	m.configure(manifests("1", "a"))

	outcome := m.succeed()

	assert.Contains(t, outcome.Warning, "the Target leads to another cluster now")
	assert.Equal(t, 1, m.sites(), "it is not forgotten")
	m.lead("one", m.first)
	m.use("two")
	m.configure(manifests("1", "a"))
	assert.Empty(t, m.succeed().Warning)
	assert.False(t, m.has(m.first, "a"))
	assert.True(t, m.has(m.second, "a"))
}

// A cluster that the plan does not name is recorded before anything goes there.
func TestTargetThatLeadsElsewhereThanPlannedBeforeADeath(t *testing.T) {
	m := newMove(t)
	m.configure(manifests("1", "a"))
	m.lead("one", m.second)
	m.use("one")
	m.killed()
	assert.True(t, m.has(m.second, "a"))
	m.lead("one", m.first)
	m.use("one")
	m.configure(manifests("1", "b"))

	outcome := m.succeed()

	assert.Contains(t, outcome.Warning, "the Target leads to another cluster now")
	m.use("two")
	m.configure(manifests("1", "b"))
	assert.Empty(t, m.succeed().Warning)
	assert.False(t, m.has(m.first, "a") || m.has(m.first, "b") || m.has(m.second, "a"))
	assert.True(t, m.has(m.second, "b"))
}

func TestWhatThePlanNamesIsNotRecordedAgain(t *testing.T) {
	m := newMove(t)
	m.item.Record = func(context.Context, *runtime.RawExtension) error {
		assert.Fail(t, "a write too many")
		return nil
	}
	for _, names := range [][]string{{"a"}, {"a", "b"}, {"b"}} {
		m.configure(manifests("1", names...))
		m.succeed()
	}
}
