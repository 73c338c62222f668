// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

func checkOf(t *testing.T, text string) managedresource.CustomReadinessCheckConfiguration {
	t.Helper()
	var check managedresource.CustomReadinessCheckConfiguration
	require.NoError(t, yaml.Unmarshal([]byte(text), &check))
	for _, err := range managedresource.ValidateReadiness("", &managedresource.ReadinessCheckConfiguration{
		CustomReadinessChecks: []managedresource.CustomReadinessCheckConfiguration{check}}) {
		require.NoError(t, err)
	}
	return check
}

func (b *bench) custom(checks ...managedresource.CustomReadinessCheckConfiguration) resources.Progress {
	b.t.Helper()
	progress, err := resources.CustomChecks(b.t.Context(), b.Session, checks)
	require.NoError(b.t, err)
	return progress
}

func TestCustomCheckByName(t *testing.T) {
	b := newBench(t)
	check := checkOf(t, "{name: filled, resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: one, namespace: "+b.namespace+"}], requirements: [{jsonPath: .data.a, operator: ==, values: [{value: '1'}]}]}")

	progress := b.custom(check)
	assert.Equal(t, "readiness check filled: ConfigMap "+b.namespace+"/one does not exist", progress.Waiting())
	require.Len(t, progress.Watch, 1)
	assert.Equal(t, "one", progress.Watch[0].Name)

	object := b.put(b.configMap("one", "a", "0"))
	assert.Equal(t, "readiness check filled: ConfigMap "+b.namespace+"/one does not fulfil .data.a ==", b.custom(check).Waiting())

	b.change(object, "data: {a: '1'}")
	assert.True(t, b.custom(check).Done(), "what an earlier call saw does not count")
}

func TestCustomCheckByLabel(t *testing.T) {
	b := newBench(t)
	check := checkOf(t, "{name: all, labelSelector: {apiVersion: v1, kind: ConfigMap, matchLabels: {group: "+b.namespace+"}}, requirements: [{jsonPath: .data.a, operator: ==, values: [{value: '1'}]}]}")
	progress := b.custom(check)
	assert.Contains(t, progress.Waiting(), "no ConfigMap has the labels group="+b.namespace)
	require.Len(t, progress.Watch, 1)
	assert.Empty(t, progress.Watch[0].Name)

	for name, value := range map[string]string{"one": "1", "two": "0"} {
		object := b.configMap(name, "a", value)
		object.SetLabels(map[string]string{"group": b.namespace})
		b.put(object)
	}
	assert.Contains(t, b.custom(check).Waiting(), "ConfigMap "+b.namespace+"/two does not fulfil")

	b.change(b.configMap("two", "a", "0"), "data: {a: '1'}")
	assert.True(t, b.custom(check).Done())
}

func TestChecksAreIndependent(t *testing.T) {
	b := newBench(t)
	b.put(b.configMap("one", "a", "1"))
	good := checkOf(t, "{name: good, resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: one, namespace: "+b.namespace+"}], requirements: [{jsonPath: .data.a, operator: exists}]}")
	bad := checkOf(t, "{name: bad, resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: two, namespace: "+b.namespace+"}], requirements: [{jsonPath: .data.a, operator: exists}]}")
	worse := checkOf(t, "{name: worse, resourceSelector: [{apiVersion: example.com/v1, kind: Nothing, name: two}], requirements: [{jsonPath: .data.a, operator: exists}]}")
	off := checkOf(t, "{name: off, disabled: true, resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: three, namespace: "+b.namespace+"}], requirements: [{jsonPath: .data.a, operator: exists}]}")

	progress := b.custom(bad, worse, off, good)

	assert.Len(t, progress.Reasons, 2)
	assert.Contains(t, progress.Waiting(), "readiness check bad")
	assert.Contains(t, progress.Waiting(), "readiness check worse")
}

func TestCustomCheckOnAnotherTarget(t *testing.T) {
	b := newBench(t)
	b.put(b.configMap("one", "a", "1"))
	other := *b.Cluster
	b.Targets = func(_ context.Context, name string) (*target.Cluster, error) { return &other, nil }
	check := checkOf(t, "{name: there, targetName: other, resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: two, namespace: "+b.namespace+"}], requirements: [{jsonPath: .data.a, operator: exists}]}")

	progress := b.custom(check)

	require.Len(t, progress.Watch, 1)
	assert.Same(t, &other, progress.Watch[0].Cluster)
}

func exportsOf(t *testing.T, text string) []managedresource.Export {
	t.Helper()
	var exports managedresource.Exports
	require.NoError(t, yaml.Unmarshal([]byte(text), &exports))
	for _, err := range managedresource.ValidateExports("exports", &exports) {
		require.NoError(t, err)
	}
	return exports.Exports
}

func TestExports(t *testing.T) {
	b := newBench(t)
	b.put(b.object("{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: %[1]s}, stringData: {token: hello}}"))
	b.put(b.object("{apiVersion: v1, kind: ServiceAccount, metadata: {name: user, namespace: %[1]s}, secrets: [{name: token}]}"))
	list := exportsOf(t, `
exports:
- {key: a.b, jsonPath: .data.token, fromResource: {apiVersion: v1, kind: Secret, name: token, namespace: `+b.namespace+`}}
- {key: a.c, jsonPath: .metadata.name, fromResource: {apiVersion: v1, kind: Secret, name: token, namespace: `+b.namespace+`}}
- key: followed
  jsonPath: .secrets[0]
  fromResource: {apiVersion: v1, kind: ServiceAccount, name: user, namespace: `+b.namespace+`}
  fromObjectRef: {apiVersion: v1, kind: Secret, jsonPath: .data.token}
- {key: ignored, jsonPath: .Values.x}
`)

	values, progress, err := resources.Export(t.Context(), b.Session, list)

	require.NoError(t, err)
	assert.True(t, progress.Done())
	assert.Equal(t, map[string]any{"a": map[string]any{"b": "aGVsbG8=", "c": "token"}, "followed": "aGVsbG8="}, values)
}

func TestExportsWaitForValues(t *testing.T) {
	b := newBench(t)
	list := exportsOf(t, `
exports:
- {key: token, jsonPath: .data.token, fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: `+b.namespace+`}}
- key: followed
  jsonPath: .data
  fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: `+b.namespace+`}
  fromObjectRef: {apiVersion: v1, kind: ConfigMap, jsonPath: .data.end}
`)
	expectations := []struct {
		change  func()
		waiting string
	}{
		{change: func() {}, waiting: "export token: ConfigMap " + b.namespace + "/one does not exist; export followed: ConfigMap " + b.namespace + "/one does not exist"},
		{change: func() { b.put(b.configMap("one", "a", "1")) },
			waiting: "export token: ConfigMap " + b.namespace + "/one has no .data.token yet; export followed: .data of ConfigMap " + b.namespace + "/one is not a reference with a name, as fromObjectRef needs"},
		{change: func() { b.change(b.configMap("one", "a", "1"), "data: {name: two, token: abc}") },
			waiting: "export followed: ConfigMap " + b.namespace + "/two does not exist"},
		{change: func() { b.put(b.configMap("two", "end", "done")) }, waiting: ""},
	}
	for _, expect := range expectations {
		expect.change()
		_, progress, err := resources.Export(t.Context(), b.Session, list)
		require.NoError(t, err)
		assert.Equal(t, expect.waiting, progress.Waiting())
		assert.Len(t, progress.Watch, len(progress.Reasons))
	}
}

func TestNoExportsAreNil(t *testing.T) {
	values, progress, err := resources.Export(t.Context(), &resources.Session{}, nil)
	require.NoError(t, err)
	assert.True(t, progress.Done())
	assert.Nil(t, values)
}

func TestSweepFindsOnlyProvenObjects(t *testing.T) {
	b := newBench(t)
	b.apply("", nil, manage(b.configMap("mine", "a", "1")), withPolicy("keep", b.configMap("kept", "a", "1")))
	same := b.configMap("same-name", "a", "1")
	(resources.Owner{Item: b.Owner.Item, UID: "another"}).Mark(same, "manage")
	putAsDeployer := func(object *unstructured.Unstructured) {
		require.NoError(t, platform.Shared(t).Client().Create(t.Context(), object, crclient.FieldOwner(resources.FieldManager)))
	}
	putAsDeployer(same)
	made := b.configMap("made", "a", "1")
	b.Owner.Mark(made, "manage")
	owner := b.live(b.configMap("mine", "a", "1"))
	made.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": string(owner.GetUID())}}
	putAsDeployer(made)
	copied := b.configMap("copied-with-all-marks", "a", "1")
	b.Owner.Mark(copied, "manage")
	b.put(copied)

	found, err := resources.Sweep(t.Context(), b.Session)

	require.NoError(t, err)
	assert.Equal(t, []managedresource.ManagedResourceStatus{managed("manage", owner)}, found)
}

// TestASweepWhoseListExpiresFindsEachObjectOnce has pages of one object each.
func TestASweepWhoseListExpiresFindsEachObjectOnce(t *testing.T) {
	for name, times := range map[string]int{"once": 1, "for ever": -1} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.apply("", nil, manage(b.configMap("one", "a", "1")), manage(b.configMap("two", "a", "1")))
			cluster := *b.Cluster
			cluster.Client = &faults.Expiry{Client: cluster.Client, Times: times}
			b.Cluster = &cluster

			found, err := resources.Sweep(t.Context(), b.Session)

			if times < 0 {
				require.ErrorContains(t, err, "cannot list ConfigMap on target")
				return
			}
			require.NoError(t, err)
			assert.Len(t, found, 2)
		})
	}
}

func TestConfirmFindsWhatACrashLeft(t *testing.T) {
	b := newBench(t)
	mine, never, theirs := b.configMap("mine", "a", "1"), b.configMap("never", "a", "1"), b.configMap("theirs", "a", "1")
	b.apply("", nil, manage(mine))
	b.put(theirs)
	former := b.configMap("of-a-former-item-of-the-name", "a", "1")
	(resources.Owner{Item: b.Owner.Item, UID: "another"}).Mark(former, "manage")
	b.put(former)

	found, err := resources.Confirm(t.Context(), b.Session, resources.Attempted([]resources.Desired{manage(mine), manage(never), manage(theirs), manage(former)}, nil))

	require.NoError(t, err)
	assert.Equal(t, []managedresource.ManagedResourceStatus{managed("manage", b.live(mine))}, found)
}
