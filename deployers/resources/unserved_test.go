// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// TestObjectsOfVersionsThatWentAreDeleted removes the version that an object was applied in from what the target serves, before or after the session
// has learnt its kinds.
func TestObjectsOfVersionsThatWentAreDeleted(t *testing.T) {
	for name, isNew := range map[string]bool{"known from before": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			definition := b.object(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: 'things.%[1]s.example.com'},
spec: {group: '%[1]s.example.com', names: {kind: Thing, plural: things}, scope: Namespaced,
  versions: [{name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}},
    {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
			b.put(definition)
			t.Cleanup(func() { _ = platform.Shared(t).Client().Delete(background(), definition) })
			thing := b.object("{apiVersion: '%[1]s.example.com/v1beta1', kind: Thing, metadata: {name: one, namespace: %[1]s}}")
			var applied resources.Applied
			require.Eventually(t, func() bool { // discovery lags behind
				var err error
				applied, err = b.Apply(t.Context(), []resources.Desired{manage(thing)}, resources.ApplyOptions{})
				return err == nil
			}, time.Minute, 10*time.Millisecond)
			live := b.object("{apiVersion: '%[1]s.example.com/v1', kind: Thing, metadata: {name: one, namespace: %[1]s}}")
			require.Eventually(t, func() bool { return b.exists(live) }, time.Minute, 10*time.Millisecond)
			patch := `{spec: {versions: [{name: v1beta1, served: false, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}},
    {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
			b.change(definition, patch)
			require.Eventually(t, func() bool {
				_, known := new(resources.Served).Anew(t.Context(), b.Cluster, resources.GVKOf(applied.Managed[0].Resource).GroupKind())
				_, err := resources.Client(b.Cluster, resources.ResourceKind{GVR: thing.GroupVersionKind().GroupVersion().WithResource("things"), Namespaced: true}, b.namespace).
					Get(t.Context(), "one", metav1.GetOptions{})
				return known == nil && resources.IsUnserved(err)
			}, time.Minute, 10*time.Millisecond)
			if isNew {
				b.Cluster = b.open(platform.Shared(t).RestConfig)
			}

			found, err := resources.Confirm(t.Context(), b.Session, applied.Managed)
			require.NoError(t, err)
			assert.Len(t, found, 1)
			b.delete(applied.Managed, nil)

			assert.False(t, b.exists(live))
		})
	}
}

// TestNothingIsGoneBehindAProxyThatKnowsNothing has the answer of a proxy, to everything, in the place of the target's.
func TestNothingIsGoneBehindAProxyThatKnowsNothing(t *testing.T) {
	for name, isNew := range map[string]bool{"known from before": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			applied := b.apply("", nil, manage(b.configMap("one", "a", "1")))
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "default backend - 404", http.StatusNotFound)
			}))
			t.Cleanup(proxy.Close)
			astray := b.open(&rest.Config{Host: proxy.URL})
			if !isNew {
				astray.Mapper = b.Cluster.Mapper
			}
			b.Cluster = astray

			_, err := b.Delete(t.Context(), applied.Managed, nil)
			require.ErrorContains(t, err, "cannot learn the kinds of target test")
			groups := groupsOf(t, "[{customResourceGroup: {deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, names: [other]}]}}]")
			_, err = b.Delete(t.Context(), applied.Managed, groups)
			require.ErrorContains(t, err, "cannot learn the kinds of target test")
			_, err = resources.Confirm(t.Context(), b.Session, applied.Managed)
			require.ErrorContains(t, err, "cannot learn the kinds of target test")
			_, err = resources.Sweep(t.Context(), b.Session)
			require.ErrorContains(t, err, "cannot ask target test for its kinds")
		})
	}
}
