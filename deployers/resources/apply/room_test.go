// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	largeObject = 900 << 10
)

// targetOfLarge is a target that answers every request with the object that it names, made as large as it may be. It changes what it is sent.
func targetOfLarge(t *testing.T, size int) *resources.Session {
	t.Helper()
	text := strings.Repeat("x", size)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": path.Base(r.URL.Path), "namespace": "shop", "uid": "u"}}
		if r.Method != http.MethodGet {
			_ = json.NewDecoder(r.Body).Decode(&object)
		}
		object["text"] = text
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	objects, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, meta.RESTScopeRoot)
	return &resources.Session{Cluster: &target.Cluster{Name: "large", Config: config, Dynamic: objects, Mapper: mapper}, Owner: resources.Owner{Item: "item"}}
}

func many(t *testing.T, count int, text string) []resources.Desired {
	t.Helper()
	var desired []resources.Desired
	for i := range count {
		desired = append(desired, resources.Desired{Policy: managedresource.ManagePolicy, Object: parse(t, fmt.Sprintf(text, i))})
	}
	return desired
}

// textsIn returns how many bytes the texts of an object have that a target has made large.
func textsIn(live *unstructured.Unstructured) int {
	if live == nil {
		return 0
	}
	text, _ := live.Object["text"].(string)
	return len(text)
}

func TestOfLargeObjectsOnlyAFewAreKept(t *testing.T) {
	const count = 24
	configMaps := many(t, count, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d, namespace: shop}}")
	for _, strategy := range []managedresource.UpdateStrategy{managedresource.UpdateStrategyUpdate, managedresource.UpdateStrategyApply} {
		t.Run(string(strategy), func(t *testing.T) {
			applied, err := Objects(t.Context(), targetOfLarge(t, largeObject), configMaps, Options{Strategy: strategy})

			require.NoError(t, err)
			assert.Len(t, applied.Managed, count)
			require.Len(t, applied.Subjects, count, "all are looked at")
			kept := 0
			for _, subject := range applied.Subjects {
				assert.True(t, subject.Exists)
				kept += textsIn(subject.Live)
			}
			assert.Positive(t, kept)
			assert.LessOrEqual(t, kept, maxKept)
		})
	}
}

func TestSmallObjectsAreAllKept(t *testing.T) {
	const count = 1000
	configMaps := many(t, count, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d, namespace: shop}}")
	applied, err := Objects(t.Context(), targetOfLarge(t, 8<<10), configMaps, Options{})
	require.NoError(t, err)
	require.Len(t, applied.Subjects, count)
	for _, subject := range applied.Subjects {
		require.NotNil(t, subject.Live, subject.Resource)
	}
}

// TestARehearsalKeepsAFewLargeObjects tries objects that all differ from what is on the target: of each there is what was read and what the dry run
// has answered.
func TestARehearsalKeepsAFewLargeObjects(t *testing.T) {
	const count = 24
	s := targetOfLarge(t, largeObject)
	var applied Applied
	plan, problems := planOf(t.Context(), s, many(t, count, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d, namespace: shop}, data: {a: b}}"), Options{}, &applied)
	require.Empty(t, problems)
	w := newWriter(s, Options{Strategy: managedresource.UpdateStrategyApply}, plan)
	require.Empty(t, w.rehearse(t.Context(), rehearsable(&plan)))

	kept := 0
	for _, t := range plan[namespaced] {
		if first := t.rehearsed; first.staged != nil {
			kept += textsIn(first.staged.live) + textsIn(first.staged.answer)
		} else {
			kept += textsIn(first.settled.live)
		}
	}
	assert.Positive(t, kept)
	assert.LessOrEqual(t, kept, maxKept)
	assert.Empty(t, w.applyGroup(t.Context(), plan[namespaced], &applied))
	assert.Len(t, applied.Managed, count)
	for _, done := range plan[namespaced] {
		assert.Nil(t, done.rehearsed, "what was applied needs no rehearsal any more")
	}
}

// TestLargeDefinitionsAreWaitedFor has definitions that the target never establishes, too many to keep them all.
func TestLargeDefinitionsAreWaitedFor(t *testing.T) {
	const count = 24
	desired := many(t, count, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c-%[1]d}, "+
		"spec: {group: example.com, names: {kind: Kind%[1]d, plural: c-%[1]d}, scope: Namespaced, versions: [{name: v1}]}}")
	desired = append(desired, many(t, count, "{apiVersion: example.com/v1, kind: Kind%[1]d, metadata: {name: c-%[1]d, namespace: shop}}")...)

	applied, err := Objects(t.Context(), targetOfLarge(t, largeObject), desired, Options{})

	require.NoError(t, err)
	assert.Len(t, applied.Managed, count, "the rest waits")
	assert.False(t, applied.Progress.Done())
	assert.Len(t, applied.Progress.Watch, count)
}
