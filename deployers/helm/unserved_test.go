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

	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
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

// thing returns a Thing that has to exist.
func (f *fixture) thing(group, name string) *unstructured.Unstructured {
	f.Helper()
	thing := &unstructured.Unstructured{}
	thing.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"})
	require.NoError(f, f.open().Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, thing))
	return thing
}

// thatGoes is what is deployed before something goes from what the target serves, and what happens then.
type thatGoes struct {
	begin, end func(f *fixture, group string)
	// knowsItFromBefore says that the process has seen the target with it.
	knowsItFromBefore bool
}

// goes begins all of them on one definition, lets something of it go, and ends them.
func goes(t *testing.T, all map[string]thatGoes, gone func(f *fixture, definition *unstructured.Unstructured, group string)) {
	t.Helper()
	host, begun := newFixture(t), map[string]*fixture{}
	host.ctx = t.Context() // for as long as all of them take
	definition, group := host.define()
	for name, one := range all {
		begun[name] = newFixture(t)
		begun[name].ctx = t.Context()
		one.begin(begun[name], group)
	}
	gone(host, definition, group)
	for name, one := range all {
		t.Run(name, func(t *testing.T) {
			f := begun[name]
			f.T = t
			if !one.knowsItFromBefore {
				f.cluster = f.open()
			}
			one.end(f, group)
		})
	}
}

// first makes the first revision of a chart with these templates, and the ConfigMap a.
func (f *fixture) first(settings config, templates map[string]string) {
	f.Helper()
	templates["a"] = named("a")
	f.configure(config{"chart": f.chart("1.0.0", templates), "helmDeploymentConfig": settings})
	f.succeed(f.deployer())
}

func TestWhatHasVersionsThatWent(t *testing.T) {
	processes := map[*fixture]contract.Deployer{}
	failsAnUpgrade := func(f *fixture, group string) {
		f.first(nil, map[string]string{})
		processes[f] = f.deployer()
		f.next(config{"chart": f.chart("1.1.0", map[string]string{
			"a": named("a"), "t": thingOf(group, "v1beta1", "one"), "z": thingOf(group, "v1beta1", "Refused"),
		})})
		f.fail(processes[f])
		require.True(f, f.hasThing(group, "one"))
	}
	losesLeftovers := func(f *fixture, group string) {
		f.next(config{"chart": f.chart("1.2.0", map[string]string{"a": named("a")})})
		f.succeed(processes[f])
		assert.False(f, f.hasThing(group, "one"))
	}
	hasOne := func(f *fixture, group string) { f.first(nil, map[string]string{"t": thingOf(group, "v1beta1", "one")}) }
	isUninstalled := func(f *fixture, group string) {
		f.remove(f.deployer())
		assert.False(f, f.hasThing(group, "one"))
		f.isEmpty()
	}
	var before, kept types.UID
	remedies := config{"upgrade": config{"remediation": config{"retries": 0, "remediateLastFailure": true}}}
	goes(t, map[string]thatGoes{
		"leftovers, known from before": {failsAnUpgrade, losesLeftovers, true},
		"leftovers, after a restart":   {failsAnUpgrade, losesLeftovers, false},
		"uninstall, known from before": {hasOne, isUninstalled, true},
		"uninstall, after a restart":   {hasOne, isUninstalled, false},
		// The next revision has one object in the new version, and not the other one.
		"upgrade": {func(f *fixture, group string) {
			f.first(nil, map[string]string{
				"one": thingOf(group, "v1beta1", "one") + "spec: {stays: true, goes: true}\n", "two": thingOf(group, "v1beta1", "two"),
			})
			before = f.thing(group, "one").GetUID()
		}, func(f *fixture, group string) {
			f.next(config{"chart": f.chart("1.1.0", map[string]string{"a": named("a"), "one": thingOf(group, "v1", "one") + "spec: {stays: true}\n"})})
			f.succeed(f.deployer())
			after := f.thing(group, "one")
			assert.Equal(f, before, after.GetUID())
			assert.Equal(f, map[string]any{"stays": true}, after.Object["spec"])
			assert.False(f, f.hasThing(group, "two"))
			assert.Equal(f, 2, f.release().Revision)
		}, false},
		// An upgrade to the new version fails, and goes back to a revision with the old one.
		"rollback": {func(f *fixture, group string) {
			f.first(remedies, map[string]string{"one": thingOf(group, "v1beta1", "one")})
			kept = f.thing(group, "one").GetUID()
		}, func(f *fixture, group string) {
			f.next(config{"helmDeploymentConfig": remedies, "chart": f.chart("1.1.0", map[string]string{
				"a": named("a"), "one": thingOf(group, "v1", "one"), "z": named("Refused"),
			})})
			require.ErrorContains(f, f.fail(f.deployer()), "rolled back as revision 3")
			assert.Equal(f, kept, f.thing(group, "one").GetUID())
		}, false},
	}, (*fixture).dropVersion)
}

// TestReleasesOfKindsThatWent deletes a definition, and with it the objects of its kind, before the releases that have one, one of them also in a List.
func TestReleasesOfKindsThatWent(t *testing.T) {
	hasOne := func(f *fixture, group string) { f.first(nil, map[string]string{"t": thingOf(group, "v1", "one")}) }
	hasMore := func(f *fixture, group string) {
		f.first(nil, map[string]string{"t": thingOf(group, "v1", "one"), "list": "apiVersion: v1\nkind: List\nitems:\n" +
			"- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}}\n- {apiVersion: " + group + "/v1, kind: Thing, metadata: {name: two}}\n"})
		f.configMap("listed")
	}
	isUninstalled := func(f *fixture, _ string) {
		f.remove(f.deployer())
		f.isEmpty()
	}
	goes(t, map[string]thatGoes{
		"uninstall, known from before": {hasOne, isUninstalled, true},
		"uninstall, after a restart":   {hasMore, isUninstalled, false},
		"upgrade": {hasOne, func(f *fixture, _ string) {
			f.next(config{"chart": f.chart("1.1.0", map[string]string{"b": named("b")})})
			f.succeed(f.deployer())
			assert.True(f, f.isGone("a"))
			assert.False(f, f.isGone("b"))
		}, false},
	}, func(f *fixture, definition *unstructured.Unstructured, group string) {
		require.NoError(f, f.cluster.Client.Delete(f.ctx, definition))
		f.awaitServed(group, "v1", false)
	})
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
