// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helm "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// record puts a revision of the release web on the target, as Helm stores it.
func (b *bench) record(kind string, revision int, labels map[string]string) {
	b.t.Helper()
	object := b.object(fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: sh.helm.release.v1.web.v%d, namespace: %s}}", kind, revision, b.namespace))
	all := map[string]string{"owner": "helm", "name": "web", "version": fmt.Sprint(revision), "status": "deployed"}
	maps.Copy(all, labels)
	object.SetLabels(all)
	b.put(object)
}

// released returns an object as Helm leaves it for the release web.
func (b *bench) released(name string) *unstructured.Unstructured {
	object := b.configMap(name, "a", "1")
	object.SetLabels(map[string]string{helm.ManagedByLabel: helm.ManagedByHelm})
	object.SetAnnotations(map[string]string{helm.ReleaseNameAnnotation: "web", helm.ReleaseNamespaceAnnotation: b.namespace})
	return object
}

func ofItem(name, namespace string) map[string]string {
	return map[string]string{v1alpha1.HelmDeployItemLabel: name, helm.OwnerNamespaceLabel: namespace}
}

// releaseStates are the states that the release web may be in.
var releaseStates = map[string]struct {
	prepare func(b *bench)
	// Owner is named in the refusal; empty where the object is to be had.
	owner string
}{
	"of a person":          {func(b *bench) { b.record("Secret", 1, nil) }, "belongs to Helm release"},
	"of another item":      {func(b *bench) { b.record("Secret", 1, ofItem("chart", "landscapes")) }, "/web of DeployItem chart of namespace landscapes"},
	"of an item elsewhere": {func(b *bench) { b.record("Secret", 1, ofItem("item-"+b.namespace, "elsewhere")) }, "of namespace elsewhere"},
	"in a ConfigMap":       {func(b *bench) { b.record("ConfigMap", 1, nil) }, "belongs to Helm release"},
	"being uninstalled":    {func(b *bench) { b.record("Secret", 1, map[string]string{"status": "uninstalling"}) }, "belongs to Helm release"},
	"installed again": {func(b *bench) {
		b.record("Secret", 9, map[string]string{"status": "uninstalled"})
		b.record("Secret", 10, nil)
	}, "belongs to Helm release"},
	"gone": {func(*bench) {}, ""},
	"uninstalled": {func(b *bench) {
		b.record("Secret", 1, nil)
		b.record("Secret", 2, map[string]string{"status": "uninstalled"})
	}, ""},
	"own": {func(b *bench) { b.record("Secret", 1, ofItem("item-"+b.namespace, "landscapes")) }, ""},
	"own of another name": {func(b *bench) {
		b.record("Secret", 1, nil)
		b.Owner.Releases = []managedresource.ReleaseReference{{Name: "other"}}
	}, "belongs"},
	"of Gardener Landscaper, own": {func(b *bench) {
		b.record("Secret", 1, nil)
		b.Owner.Releases = []managedresource.ReleaseReference{{Name: "web", Namespace: b.namespace}}
	}, ""},
}

func TestObjectsOfReleasesAreLeftAlone(t *testing.T) {
	for name, state := range releaseStates {
		for _, strategy := range []managedresource.UpdateStrategy{"update", "patch", "merge", "mergeOverwrite"} {
			t.Run(fmt.Sprintf("%s, %s", name, strategy), func(t *testing.T) {
				b := newBench(t)
				b.Owner.Namespace = "landscapes"
				state.prepare(b)
				before := b.put(b.released("shared"))

				applied, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("shared", "b", "2"))}, resources.ApplyOptions{Strategy: strategy})

				live := b.live(before)
				if state.owner != "" {
					require.ErrorContains(t, err, state.owner)
					var failure *protocol.Failure
					require.True(t, errors.As(err, &failure))
					assert.Equal(t, "ObjectOfAnother", failure.Reason)
					assert.Empty(t, applied.Managed)
					assert.Equal(t, before.GetResourceVersion(), live.GetResourceVersion())
					return
				}
				require.NoError(t, err)
				assert.True(t, b.Owner.Proven(live))
				assert.NotContains(t, live.GetAnnotations(), helm.ReleaseNameAnnotation, "a release of that name must not find it")
				assert.NotContains(t, live.GetLabels(), helm.ManagedByLabel)
				b.delete(applied.Managed, nil)
				assert.False(t, b.exists(live))
			})
		}
	}
}

func TestObjectsOfReleasesMeetOtherPolicies(t *testing.T) {
	for policy, refused := range map[managedresource.ManifestPolicy]bool{"keep": true, "fallback": false, "immutable": false, "ignore": false} {
		t.Run(string(policy), func(t *testing.T) {
			b := newBench(t)
			b.record("Secret", 1, nil)
			before := b.put(b.released("shared"))

			applied, err := b.Apply(t.Context(), []resources.Desired{withPolicy(policy, b.configMap("shared", "b", "2"))}, resources.ApplyOptions{})

			assert.Equal(t, refused, err != nil, "%v", err)
			assert.Empty(t, applied.Managed)
			assert.Equal(t, before.GetResourceVersion(), b.live(before).GetResourceVersion())
		})
	}
}

// TestObjectThatAReleaseHasTakenStays has a release that was told to take ownership: Helm leaves the marks of the DeployItem on the object.
func TestObjectThatAReleaseHasTakenStays(t *testing.T) {
	for name, isThere := range map[string]bool{"lives": true, "is gone": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			applied := b.apply("", nil, manage(b.configMap("shared", "a", "1")))
			b.change(b.configMap("shared", "a", "1"), fmt.Sprintf("metadata: {labels: {%s: Helm}, annotations: {%s: web, %s: %s}}",
				helm.ManagedByLabel, helm.ReleaseNameAnnotation, helm.ReleaseNamespaceAnnotation, b.namespace))
			if isThere {
				b.record("Secret", 1, ofItem("chart", "landscapes"))
			}

			b.delete(applied.Managed, nil)

			assert.Equal(t, isThere, b.exists(b.configMap("shared", "a", "1")))
		})
	}
}

// TestObjectsOfReleasesWithRecordsElsewhereAreLeftAlone has a HelmRelease of Flux with targetNamespace: its records are in its own namespace.
func TestObjectsOfReleasesWithRecordsElsewhereAreLeftAlone(t *testing.T) {
	for name, isThere := range map[string]bool{"lives": true, "is gone": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Owner.Namespace = "landscapes"
			storage := platform.Shared(t).Namespace(t)
			if isThere {
				record := b.object("{apiVersion: v1, kind: Secret, metadata: {name: sh.helm.release.v1.web.v1, namespace: " + storage + "}}")
				record.SetLabels(map[string]string{"owner": "helm", "name": "web", "version": "1", "status": "deployed"})
				b.put(record)
			}
			shared := b.released("shared")
			labels := shared.GetLabels()
			maps.Copy(labels, map[string]string{"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": storage})
			shared.SetLabels(labels)
			before := b.put(shared)

			applied, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("shared", "b", "2"))}, resources.ApplyOptions{})

			if !isThere {
				require.NoError(t, err)
				assert.Len(t, applied.Managed, 1)
				return
			}
			require.ErrorContains(t, err, "belongs to Helm release "+b.namespace+"/web")
			assert.Empty(t, applied.Managed)
			assert.Equal(t, before.GetResourceVersion(), b.live(before).GetResourceVersion())
		})
	}
}

func TestAReleaseIsLookedUpOnceInACall(t *testing.T) {
	b := newBench(t)
	b.record("Secret", 1, nil)
	b.put(b.released("one"))
	b.put(b.released("two"))
	b.sent()

	_, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("one", "a", "1")), manage(b.configMap("two", "a", "1"))}, resources.ApplyOptions{})

	require.Error(t, err)
	assert.Len(t, b.sent(), 2+2+1, "two that exist are read, and the release once")
}
