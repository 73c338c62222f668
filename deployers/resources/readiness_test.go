// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

func TestReadinessFollowsTheLiveStatus(t *testing.T) {
	b := newBench(t)
	set := b.object(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: %[1]s},
spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: example.com/web}]}}}}`)
	applied := b.apply("", nil, manage(set), manage(b.configMap("one", "a", "1")))

	unready, progress, err := b.DefaultReadiness(t.Context(), applied.Subjects)

	require.NoError(t, err)
	assert.Contains(t, progress.Waiting(), "ReplicaSet "+b.namespace+"/web is not ready: its controller has not seen generation 1 yet")
	require.Len(t, unready, 1)
	require.Len(t, progress.Watch, 1)
	assert.Equal(t, "ReplicaSet", progress.Watch[0].Kind)
	waitFor(t, set, func(live *unstructured.Unstructured) bool { return resources.NotReady(live) == "" })
	_, progress, err = b.DefaultReadiness(t.Context(), unready)
	require.NoError(t, err)
	assert.True(t, progress.Done())
}

func TestReadinessOfJustAppliedObjectsTakesNoRequest(t *testing.T) {
	b := newBench(t)
	applied := b.apply("", nil, manage(b.configMap("one", "a", "1")))
	b.sent()

	_, progress, err := b.DefaultReadiness(t.Context(), applied.Subjects)

	require.NoError(t, err)
	assert.True(t, progress.Done())
	assert.Empty(t, b.sent())
}

func TestObjectThatDoesNotExistIsNotReady(t *testing.T) {
	b := newBench(t)
	_, progress, err := b.DefaultReadiness(t.Context(), []resources.Subject{{Resource: resources.ReferenceTo(b.configMap("one", "a", "1"))}})
	require.NoError(t, err)
	assert.Equal(t, "ConfigMap "+b.namespace+"/one does not exist", progress.Waiting())
}

func TestTimeoutNamesTheObject(t *testing.T) {
	b := newBench(t)
	var checkpoints []string
	b.Checkpoint = func(name string) error { checkpoints = append(checkpoints, name); return nil }
	_, _, err := b.DefaultReadiness(t.Context(), []resources.Subject{{Resource: managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "b"}}})
	require.NoError(t, err)
	assert.Equal(t, []string{"deployer: during readiness check - resource a/b of type ConfigMap"}, checkpoints)
}
