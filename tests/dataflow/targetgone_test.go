// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// deployForgetting deploys a ConfigMap through the Target "cluster" and gives it up when that has been gone for a minute.
func (s *scene) deployForgetting() *v1alpha1.DeployItem {
	s.T.Helper()
	s.install("root", onCluster("deployItems:\n"+configItem("item", "{import: cluster}", "cm", "there")+
		"  onDelete: {targetGone: {after: 1m}}\n"))
	s.succeeded("root")
	items := &v1alpha1.DeployItemList{}
	require.NoError(s.T, s.Client().List(s.Ctx, items, client.InNamespace(s.Namespace)))
	require.Len(s.T, items.Items, 1)
	return &items.Items[0]
}

// told returns the events about an item with a reason.
func (s *scene) told(item *v1alpha1.DeployItem, reason string) (found []corev1.Event) {
	s.T.Helper()
	list := &corev1.EventList{}
	about := client.MatchingFields{"involvedObject.kind": "DeployItem", "involvedObject.name": item.Name, "reason": reason}
	require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace), about))
	return list.Items
}

// TestADeletionGivesUpAClusterThatWentAway ends the API server of a target for good, and lets the Target lead to another cluster in its place.
func TestADeletionGivesUpAClusterThatWentAway(t *testing.T) {
	sites := newTwoSites(t)
	s := sites.scene
	far := s.elsewhere(platform.Options{})
	s.TargetOf("cluster", far.RestConfig)
	item := s.deployForgetting()
	require.Equal(t, "there", s.deployedOn(far.Client()))

	require.NoError(t, far.Process(binaries.APIServer).Kill9())
	s.Delete(s.Installation("root"))
	s.awaitItem(item, func() bool {
		return strings.Contains(conditions.GetMessage(item, meta.ReadyCondition), "connection refused")
	})
	assert.Nil(t, item.Status.TargetGoneSince, "a cluster that refuses connections is not gone")
	s.RequireStandstill()
	neighbour := &scene{landscape.NewScene(t)}
	neighbour.livesUndisturbed()

	rebuilt := sites.far
	s.occupy(rebuilt)
	s.TargetOf("cluster", rebuilt.RestConfig)
	s.awaitItem(item, func() bool { return item.Status.TargetGoneSince != nil })
	s.RequireStandstill()
	neighbour.livesUndisturbed()
	assert.Empty(t, s.told(item, "TargetGone"))

	since := time.Now().Add(-2 * time.Minute).UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"status":{"targetGoneSince":%q}}`, since)
	require.NoError(t, s.Client().Status().Patch(s.Ctx, item, client.RawPatch(types.MergePatchType, []byte(patch))))
	s.Annotate(&v1alpha1.Target{ObjectMeta: s.Named("cluster")}, "example.com/look", "again")
	s.Gone(item, s.Installation("root"))

	require.Eventually(t, func() bool { return len(s.told(item, "TargetGone")) > 0 }, landscapePatience, tick)
	events := s.told(item, "TargetGone")
	require.Len(t, events, 1)
	assert.Equal(t, corev1.EventTypeWarning, events[0].Type)
	assert.Contains(t, events[0].Message, "1 objects were there: ConfigMap "+s.Namespace+"/cm")
	assert.Contains(t, events[0].Message, since)
	assert.Equal(t, "of somebody else", s.deployedOn(rebuilt.Client()), "what is in its place is not touched")
	assert.Empty(t, neighbour.told(item, "TargetGone"))
}

func (s *scene) awaitItem(item *v1alpha1.DeployItem, done func() bool) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, landscapePatience)
	defer cancel()
	require.NoError(s.T, s.Await(ctx, item, done))
}

// occupy makes in the namespace of the scene on another cluster what is called as the ConfigMap of the scene.
func (s *scene) occupy(cluster *platform.Cluster) {
	s.T.Helper()
	require.NoError(s.T, cluster.Client().Create(s.Ctx, &corev1.ConfigMap{ObjectMeta: s.Named("cm"), Data: map[string]string{"value": "of somebody else"}}))
}

// livesUndisturbed takes an Installation of another tenant through its life.
func (s *scene) livesUndisturbed() {
	s.T.Helper()
	began := time.Now()
	s.Target("cluster")
	item := s.deployForgetting()
	s.Delete(s.Installation("root"))
	s.Gone(item, s.Installation("root"))
	assert.Less(s.T, time.Since(began), landscapePatience/2)
}
