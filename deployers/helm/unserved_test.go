// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// define makes a definition of the kind Thing, of the namespace's own group, with the versions v1beta1 and v1.
func (f *fixture) define() (definition *unstructured.Unstructured, group string) {
	f.Helper()
	text, group := f.definition()
	v1 := "{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}"
	require.Contains(f, text, v1)
	definition = &unstructured.Unstructured{}
	both := strings.Replace(text, v1, strings.Replace(strings.Replace(v1, "v1", "v1beta1", 1), "storage: true", "storage: false", 1)+", "+v1, 1)
	require.NoError(f, yaml.Unmarshal([]byte(both), definition))
	require.NoError(f, f.cluster.Client.Create(f.ctx, definition))
	f.Cleanup(func() { _ = f.platform.Client().Delete(context.WithoutCancel(f.ctx), definition) })
	f.awaitServed(group, "v1beta1", true)
	return definition, group
}

// awaitServed waits until the target serves a version of the kind Thing, or does not.
func (f *fixture) awaitServed(group, version string, want bool) {
	f.Helper()
	require.Eventually(f, func() bool {
		_, err := f.open().Mapper.RESTMapping(schema.GroupKind{Group: group, Kind: "Thing"}, version)
		return err == nil && want || meta.IsNoMatchError(err) && !want
	}, time.Minute, 10*time.Millisecond)
}

// dropVersion takes the version v1beta1 from what the target serves.
func (f *fixture) dropVersion(definition *unstructured.Unstructured, group string) {
	f.Helper()
	patch := `[{"op": "replace", "path": "/spec/versions/0/served", "value": false}]`
	require.NoError(f, f.cluster.Client.Patch(f.ctx, definition, client.RawPatch(types.JSONPatchType, []byte(patch))))
	f.awaitServed(group, "v1beta1", false)
}

func (f *fixture) hasThing(group, name string) bool {
	f.Helper()
	thing := &unstructured.Unstructured{}
	thing.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"})
	err := f.open().Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, thing)
	require.NoError(f, client.IgnoreNotFound(err))
	return err == nil
}

func thingOf(group, version, name string) string {
	return "apiVersion: " + group + "/" + version + "\nkind: Thing\nmetadata: {name: " + name + "}\n"
}

// TestLeftoversOfVersionsThatWentAreDeleted fails an upgrade after it has made an object of a version that the target does not serve any more later.
func TestLeftoversOfVersionsThatWentAreDeleted(t *testing.T) {
	for name, isNew := range map[string]bool{"known from before": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			definition, group := f.define()
			f.cluster = f.open()
			d := f.deployer()
			f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
			f.succeed(d)
			f.next(config{"chart": f.chart("1.1.0", map[string]string{
				"a": named("a"), "t": thingOf(group, "v1beta1", "one"), "z": thingOf(group, "v1beta1", "Refused"),
			})})
			f.fail(d)
			require.True(t, f.hasThing(group, "one"))

			f.dropVersion(definition, group)
			if isNew {
				f.cluster = f.open()
			}
			f.next(config{"chart": f.chart("1.2.0", map[string]string{"a": named("a")})})
			f.succeed(d)
			assert.False(t, f.hasThing(group, "one"))
		})
	}
}

// TestReleasesOfVersionsThatWentAreUninstalled removes the version that a release has an object of from what the target serves.
func TestReleasesOfVersionsThatWentAreUninstalled(t *testing.T) {
	for name, isNew := range map[string]bool{"known from before": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			definition, group := f.define()
			f.cluster = f.open()
			f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a"), "t": thingOf(group, "v1beta1", "one")})})
			f.succeed(f.deployer())
			f.dropVersion(definition, group)
			if isNew {
				f.cluster = f.open()
			}
			f.remove(f.deployer())
			assert.False(t, f.hasThing(group, "one"))
			f.isEmpty()
		})
	}
}

// TestListsOfKindsThatWentAreUninstalled has an object of such a kind among others in a List.
func TestListsOfKindsThatWentAreUninstalled(t *testing.T) {
	f := newFixture(t)
	definition, group := f.define()
	f.cluster = f.open()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"list": "apiVersion: v1\nkind: List\nitems:\n" +
		"- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}}\n- {apiVersion: " + group + "/v1, kind: Thing, metadata: {name: one}}\n"})})
	f.succeed(f.deployer())
	f.configMap("listed")
	require.NoError(t, f.cluster.Client.Delete(f.ctx, definition))
	f.awaitServed(group, "v1", false)
	f.cluster = f.open()
	f.remove(f.deployer())
	f.isEmpty()
}

// TestReleasesOfKindsThatWentAreUninstalled deletes a definition, and with it the objects of its kind, before the release that has one.
func TestReleasesOfKindsThatWentAreUninstalled(t *testing.T) {
	for name, isNew := range map[string]bool{"known from before": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			definition, group := f.define()
			f.cluster = f.open()
			f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a"), "t": thingOf(group, "v1", "one")})})
			f.succeed(f.deployer())
			require.NoError(t, f.cluster.Client.Delete(f.ctx, definition))
			f.awaitServed(group, "v1", false)
			if isNew {
				f.cluster = f.open()
			}
			f.remove(f.deployer())
			f.isEmpty()
		})
	}
}

// thing returns a Thing that has to exist.
func (f *fixture) thing(group, name string) *unstructured.Unstructured {
	f.Helper()
	thing := &unstructured.Unstructured{}
	thing.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"})
	require.NoError(f, f.open().Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, thing))
	return thing
}

// TestReleasesOfVersionsThatWentAreUpgraded has objects of the version that is gone which the next revision has in the new version, and has not.
func TestReleasesOfVersionsThatWentAreUpgraded(t *testing.T) {
	f := newFixture(t)
	definition, group := f.define()
	f.cluster = f.open()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{
		"a": named("a"), "one": thingOf(group, "v1beta1", "one") + "spec: {stays: true, goes: true}\n", "two": thingOf(group, "v1beta1", "two"),
	})})
	f.succeed(f.deployer())
	before := f.thing(group, "one")
	f.dropVersion(definition, group)
	f.cluster = f.open()

	f.next(config{"chart": f.chart("1.1.0", map[string]string{"a": named("a"), "one": thingOf(group, "v1", "one") + "spec: {stays: true}\n"})})
	f.succeed(f.deployer())
	after := f.thing(group, "one")
	assert.Equal(t, before.GetUID(), after.GetUID())
	assert.Equal(t, map[string]any{"stays": true}, after.Object["spec"])
	assert.False(t, f.hasThing(group, "two"))
	assert.Equal(t, 2, f.release().Revision)
}

func TestReleasesOfKindsThatWentAreUpgraded(t *testing.T) {
	f := newFixture(t)
	definition, group := f.define()
	f.cluster = f.open()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a"), "one": thingOf(group, "v1", "one")})})
	f.succeed(f.deployer())
	require.NoError(t, f.cluster.Client.Delete(f.ctx, definition))
	f.awaitServed(group, "v1", false)
	f.cluster = f.open()

	f.next(config{"chart": f.chart("1.1.0", map[string]string{"b": named("b")})})
	f.succeed(f.deployer())
	assert.True(t, f.isGone("a"))
	assert.False(t, f.isGone("b"))
}

// TestARollbackPassesOverVersionsThatWent fails an upgrade to the new version of a kind, and goes back to a revision with the old one.
func TestARollbackPassesOverVersionsThatWent(t *testing.T) {
	f := newFixture(t)
	definition, group := f.define()
	f.cluster = f.open()
	settings := config{"upgrade": config{"remediation": config{"retries": 0, "remediateLastFailure": true}}}
	f.configure(config{"helmDeploymentConfig": settings, "chart": f.chart("1.0.0", map[string]string{"a": named("a"), "one": thingOf(group, "v1beta1", "one")})})
	f.succeed(f.deployer())
	before := f.thing(group, "one")
	f.dropVersion(definition, group)
	f.cluster = f.open()

	f.next(config{"helmDeploymentConfig": settings, "chart": f.chart("1.1.0", map[string]string{
		"a": named("a"), "one": thingOf(group, "v1", "one"), "z": named("Refused"),
	})})
	require.ErrorContains(t, f.fail(f.deployer()), "rolled back as revision 3")
	assert.Equal(t, before.GetUID(), f.thing(group, "one").GetUID())
}

// TestAChartWithWhatTheTargetServesNoMoreFailsAtOnce tells what is gone from a kind whose definition may come.
func TestAChartWithWhatTheTargetServesNoMoreFailsAtOnce(t *testing.T) {
	f := newFixture(t)
	definition, group := f.define()
	f.cluster = f.open()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"one": thingOf(group, "v1beta1", "one")})})
	f.succeed(f.deployer())
	f.dropVersion(definition, group)
	f.cluster = f.open()

	try := func(chart string, says string, isFor bool) {
		f.Helper()
		f.next(config{"chart": f.chart("1.1.0", map[string]string{"one": chart})})
		err := f.fail(f.deployer())
		require.ErrorContains(f, err, says)
		assert.Equal(f, isFor, isFinal(err), err)
		assert.Equal(f, 1, f.release().Revision)
	}
	try(thingOf(group, "v1beta1", "one"), "it serves "+group+"/v1: use a version of the chart that has that", true)
	try("apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: one}\n", "PodSecurityPolicy of apiVersion policy/v1beta1", true)
	try(thingOf("never."+group, "v1", "one"), "no matches for kind", false)
	require.NoError(t, f.cluster.Client.Delete(f.ctx, definition))
	f.awaitServed(group, "v1", false)
	f.cluster = f.open()
	try(thingOf(group, "v1", "one"), "without it, or install its definition", true)
}
