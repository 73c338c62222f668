// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"io"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// used returns the bytes that are in use.
func used() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// watching answers discovery and lists as a cluster with ConfigMaps does, and watches by events.
func watching(events func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("watch") != "":
			events(w, r)
		case r.URL.Path == "/api":
			answerJSON(w, `{"kind": "APIVersions", "versions": ["v1"]}`)
		case r.URL.Path == "/apis":
			answerJSON(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`)
		case r.URL.Path == "/api/v1":
			answerJSON(w, `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": true,
				"verbs": ["list", "watch"]}]}`)
		default:
			answerJSON(w, `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "1"}, "items": []}`)
		}
	}
}

// changes sends changes of an object as fast as they are taken.
func changes(sent *atomic.Int64) http.HandlerFunc {
	return watching(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for {
			version := strconv.FormatInt(2+sent.Load(), 10)
			if _, err := io.WriteString(w, `{"type":"MODIFIED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"namespace":"n",`+
				`"name":"o","resourceVersion":"`+version+`"}}}`+"\n"); err != nil {
				return
			}
			sent.Add(1)
		}
	})
}

// TestWatchesThatAreNotReadFillNoMemory has a server that sends faster than anybody reads.
func TestWatchesThatAreNotReadFillNoMemory(t *testing.T) {
	var sent atomic.Int64
	cluster := hostile(t, changes(&sent))
	before := used()
	for range 40 {
		watcher, err := cluster.Dynamic.Resource(configMaps).Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		defer watcher.Stop()
	}
	last := int64(-1)
	assert.Eventually(t, func() bool {
		was := last
		last = sent.Load()
		return was == last
	}, time.Minute, 300*time.Millisecond)
	assert.Less(t, used()-before, int64(32<<20))
}
