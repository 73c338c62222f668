// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// swept is a target with one kind, whose lists have so many pages of objects with all marks of an item.
type swept struct {
	objects, pages int
	annotation     string
	asked          atomic.Int64
	// most is the largest heap in use when a page was asked for.
	most uint64
}

func (s *swept) serve(t *testing.T, owner resources.Owner) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			fmt.Fprint(w, `{"kind":"APIVersions","apiVersion":"v1","versions":["v1"]}`)
		case "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		case "/api/v1":
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[
				{"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap","verbs":["list","delete","get"]}]}`)
		default:
			s.page(w, owner)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func (s *swept) page(w http.ResponseWriter, owner resources.Owner) {
	at := s.asked.Add(1)
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	s.most = max(s.most, stats.HeapAlloc)
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	if at < int64(s.pages) {
		list.Continue = "more"
	}
	for i := range s.objects {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("o-%d-%d", at, i), Namespace: "n", UID: types.UID(fmt.Sprintf("u-%d-%d", at, i)),
				Labels:        map[string]string{v1alpha1.ManifestDeployItemLabel: resources.LabelValue(owner.Item)},
				Annotations:   map[string]string{resources.OwnerUIDAnnotation: string(owner.UID), "bloat": s.annotation},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "before-first-apply", Operation: metav1.ManagedFieldsOperationUpdate}},
			},
		})
	}
	_ = json.NewEncoder(w).Encode(list)
}

// TestObjectsWithTheMarksOfAnItemFillNoMemory has a server that answers a search for what a record has lost with objects that have all marks of the item.
func TestObjectsWithTheMarksOfAnItemFillNoMemory(t *testing.T) {
	b := newBench(t)
	crowded := &swept{objects: 8, pages: 20, annotation: strings.Repeat("x", 1<<20)}
	b.Cluster = b.open(crowded.serve(t, b.Owner))
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)

	found, err := resources.Sweep(t.Context(), b.Session)

	require.NoError(t, err)
	assert.Len(t, found, crowded.objects*crowded.pages)
	assert.Less(t, int64(crowded.most)-int64(before.HeapAlloc), int64(128<<20))
}
