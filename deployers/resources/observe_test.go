// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestRequirements(t *testing.T) {
	const object = `
status:
  phase: Done
  count: 2
  ratio: 0.5
  conditions: [{type: Ready, status: "True"}, {type: Healthy, status: "False"}]
  nested: {a: [1, {b: c}]}
  none: null
metadata: {annotations: {example.com/done: "yes"}}
`
	for requirement, expect := range map[string]bool{
		"{jsonPath: .status.phase, operator: exists}":                                                              true,
		"{jsonPath: status.phase, operator: exists}":                                                               true,
		"{jsonPath: '{.status.phase}', operator: exists}":                                                          true,
		"{jsonPath: .status.missing, operator: exists}":                                                            false,
		"{jsonPath: .missing.deep.field, operator: exists}":                                                        false,
		"{jsonPath: .status.missing, operator: '!'}":                                                               true,
		"{jsonPath: .status.phase, operator: '!'}":                                                                 false,
		"{jsonPath: .status.phase, operator: '=', values: [{value: Done}]}":                                        true,
		"{jsonPath: .status.phase, operator: '==', values: [{value: Running}]}":                                    false,
		"{jsonPath: .status.phase, operator: '!=', values: [{value: Running}]}":                                    true,
		"{jsonPath: .status.phase, operator: '!=', values: [{value: Done}]}":                                       false,
		"{jsonPath: .status.missing, operator: '!=', values: [{value: Done}]}":                                     false,
		"{jsonPath: .status.missing, operator: '==', values: [{value: Done}]}":                                     false,
		"{jsonPath: .status.phase, operator: in, values: [{value: a}, {value: Done}]}":                             true,
		"{jsonPath: .status.phase, operator: in, values: [{value: a}, {value: b}]}":                                false,
		"{jsonPath: .status.phase, operator: notin, values: [{value: a}, {value: b}]}":                             true,
		"{jsonPath: .status.phase, operator: notin, values: [{value: Done}]}":                                      false,
		"{jsonPath: .status.count, operator: ==, values: [{value: 2}]}":                                            true,
		"{jsonPath: .status.count, operator: ==, values: [{value: 2.0}]}":                                          true,
		"{jsonPath: .status.count, operator: ==, values: [{value: '2'}]}":                                          false,
		"{jsonPath: .status.ratio, operator: ==, values: [{value: 0.5}]}":                                          true,
		"{jsonPath: .status.nested, operator: ==, values: [{value: {a: [1, {b: c}]}}]}":                            true,
		"{jsonPath: .status.nested, operator: ==, values: [{value: {a: [1]}}]}":                                    false,
		"{jsonPath: '.status.conditions[?(@.type == ''Ready'')].status', operator: ==, values: [{value: 'True'}]}": true,
		"{jsonPath: '.status.conditions[?(@.type==\"Healthy\")].status', operator: ==, values: [{value: 'True'}]}": false,
		"{jsonPath: '.status.conditions[*].status', operator: in, values: [{value: 'True'}, {value: 'False'}]}":    true,
		"{jsonPath: '.status.conditions[*].status', operator: ==, values: [{value: 'True'}]}":                      false,
		"{jsonPath: '.spec.conditions[?(@.type == ''Ready'')].status', operator: exists}":                          false,
		"{jsonPath: '.metadata.annotations.example\\.com/done', operator: ==, values: [{value: 'yes'}]}":           true,
	} {
		t.Run(requirement, func(t *testing.T) {
			var spec managedresource.RequirementSpec
			require.NoError(t, yaml.Unmarshal([]byte(requirement), &spec))
			var document map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(object), &document))

			ok, err := fulfils(document, spec)

			require.NoError(t, err)
			assert.Equal(t, expect, ok)
		})
	}
}

func TestMalformedPathIsMisconfigured(t *testing.T) {
	for _, path := range []string{".a[", "{.a", "..a..b", "." + strings.Repeat("a", 2000), ".a[?(@.b==]"} {
		t.Run(path, func(t *testing.T) {
			_, err := values(map[string]any{}, path)
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, kit.CodesOf(err))
		})
	}
}

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

func (b *bench) custom(checks ...managedresource.CustomReadinessCheckConfiguration) Progress {
	b.t.Helper()
	progress, err := Custom(b.t.Context(), b.Session, checks)
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
	exports := exportsOf(t, `
exports:
- {key: a.b, jsonPath: .data.token, fromResource: {apiVersion: v1, kind: Secret, name: token, namespace: `+b.namespace+`}}
- {key: a.c, jsonPath: .metadata.name, fromResource: {apiVersion: v1, kind: Secret, name: token, namespace: `+b.namespace+`}}
- key: followed
  jsonPath: .secrets[0]
  fromResource: {apiVersion: v1, kind: ServiceAccount, name: user, namespace: `+b.namespace+`}
  fromObjectRef: {apiVersion: v1, kind: Secret, jsonPath: .data.token}
- {key: ignored, jsonPath: .Values.x}
`)

	values, progress, err := Export(t.Context(), b.Session, exports)

	require.NoError(t, err)
	assert.True(t, progress.Done())
	assert.Equal(t, map[string]any{"a": map[string]any{"b": "aGVsbG8=", "c": "token"}, "followed": "aGVsbG8="}, values)
}

func TestExportsWaitForValues(t *testing.T) {
	b := newBench(t)
	exports := exportsOf(t, `
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
		_, progress, err := Export(t.Context(), b.Session, exports)
		require.NoError(t, err)
		assert.Equal(t, expect.waiting, progress.Waiting())
		assert.Len(t, progress.Watch, len(progress.Reasons))
	}
}

func TestNoExportsAreNil(t *testing.T) {
	values, progress, err := Export(t.Context(), &Session{}, nil)
	require.NoError(t, err)
	assert.True(t, progress.Done())
	assert.Nil(t, values)
}

func TestNest(t *testing.T) {
	for name, keys := range map[string][]string{"through a value": {"a", "a.b"}, "over a map": {"a.b", "a"}, "twice": {"a.b", "a.b"}} {
		t.Run(name, func(t *testing.T) {
			into := map[string]any{}
			require.NoError(t, Nest(into, keys[0], "x"))
			err := Nest(into, keys[1], "x")
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, kit.CodesOf(err))
		})
	}
}

func TestSweepFindsOnlyProvenObjects(t *testing.T) {
	b := newBench(t)
	b.apply("", nil, manage(b.configMap("mine", "a", "1")), withPolicy("keep", b.configMap("kept", "a", "1")))
	same := b.configMap("same-name", "a", "1")
	(Owner{Item: b.Owner.Item, UID: "another"}).mark(same, "manage")
	putAsDeployer := func(object *unstructured.Unstructured) {
		require.NoError(t, platform.Shared(t).Client().Create(t.Context(), object, crclient.FieldOwner(FieldManager)))
	}
	putAsDeployer(same)
	made := b.configMap("made", "a", "1")
	b.Owner.mark(made, "manage")
	owner := b.live(b.configMap("mine", "a", "1"))
	made.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": string(owner.GetUID())}}
	putAsDeployer(made)
	copied := b.configMap("copied-with-all-marks", "a", "1")
	b.Owner.mark(copied, "manage")
	b.put(copied)

	found, err := Sweep(t.Context(), b.Session)

	require.NoError(t, err)
	assert.Equal(t, []managedresource.ManagedResourceStatus{managed("manage", owner)}, found)
}

func TestConfirmFindsWhatACrashLeft(t *testing.T) {
	b := newBench(t)
	mine, never, theirs := b.configMap("mine", "a", "1"), b.configMap("never", "a", "1"), b.configMap("theirs", "a", "1")
	b.apply("", nil, manage(mine))
	b.put(theirs)
	former := b.configMap("of-a-former-item-of-the-name", "a", "1")
	(Owner{Item: b.Owner.Item, UID: "another"}).mark(former, "manage")
	b.put(former)

	found, err := Confirm(t.Context(), b.Session, Attempted([]Desired{manage(mine), manage(never), manage(theirs), manage(former)}, nil))

	require.NoError(t, err)
	assert.Equal(t, []managedresource.ManagedResourceStatus{managed("manage", b.live(mine))}, found)
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{".a.b", "{.a[?(@.b=='c')].d}", "a[*]", "$..a", "[0:1]", "{range .a}{.b}{end}", ".a['b','c']", "{1}{'x'}"} {
		f.Add(seed)
	}
	document := map[string]any{"a": []any{map[string]any{"b": "c", "d": int64(1)}, nil, 1.5, "x"}, "b": map[string]any{"c": true}}
	f.Fuzz(func(t *testing.T, path string) {
		_, found, err := Value(document, path)
		if err != nil {
			require.False(t, found)
			require.True(t, kit.IsUnrecoverable(err))
		}
	})
}
