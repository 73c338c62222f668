// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
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

var configMapStream = MetadataStream{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap")}

// TestEventsOfMuchTextAreRefusedInManyLines has an event that begins a new line after each value.
func TestEventsOfMuchTextAreRefusedInManyLines(t *testing.T) {
	t.Parallel()
	line := `"` + strings.Repeat("x", 1000) + "\",\n"
	for name, begin := range map[string]string{"values": `{"type": "ADDED", "object": {"kind": "ConfigMap", "apiVersion": "v1", "x": [`, "blanks": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var taken atomic.Int64
			line := line
			if begin == "" {
				line = strings.Repeat(" \n", 500)
			}
			cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
				answerJSON(w, begin)
				for range 64 << 10 {
					if _, err := io.WriteString(w, line); err != nil {
						return
					}
					taken.Add(1000)
				}
			}, func(l *guard.Limits) { l.Event = 64 << 10 })
			watcher, err := cluster.Dynamic.Resource(configMaps).Watch(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			defer watcher.Stop()
			for event := range watcher.ResultChan() {
				assert.NotEqual(t, watch.Added, event.Type)
			}
			assert.Less(t, taken.Load(), int64(16<<20))
		})
	}
}

// inProtobuf returns an event with an object as API servers send it.
func inProtobuf(t *testing.T, object *metav1.PartialObjectMetadata) []byte {
	t.Helper()
	raw, err := object.Marshal()
	require.NoError(t, err)
	typed := k8sruntime.Unknown{TypeMeta: k8sruntime.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, Raw: raw}
	raw, err = typed.Marshal()
	require.NoError(t, err)
	event := metav1.WatchEvent{Type: "ADDED", Object: k8sruntime.RawExtension{Raw: append([]byte("k8s\x00"), raw...)}}
	raw, err = event.Marshal()
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
}

// TestWatchesKeepNoLargeBuffers has watches with one large event each, of JSON and of protobuf, where bytes look like ends of lines.
func TestWatchesKeepNoLargeBuffers(t *testing.T) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "o", ResourceVersion: "2"}}
	object.Kind, object.APIVersion = "PartialObjectMetadata", "meta.k8s.io/v1"
	object.Annotations = map[string]string{"large": strings.Repeat("\n", 2<<20)}
	text, err := json.Marshal(object)
	require.NoError(t, err)
	protobuf := inProtobuf(t, object)
	for name, send := range map[string]func(w http.ResponseWriter){
		"JSON": func(w http.ResponseWriter) { answerJSON(w, `{"type": "ADDED", "object": `+string(text)+"}\n") },
		"protobuf": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
			_, _ = w.Write(protobuf)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := hostile(t, watching(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("resourceVersion") == "1" {
					send(w)
				}
				w.(http.Flusher).Flush()
				silent(w, r)
			}))
			before := used()
			for range 16 {
				seen := make(chan string)
				go func() {
					_ = cluster.FollowMetadata(t.Context(), configMapStream, MetadataHandler{Opened: func() {}, Deleted: func(*metav1.PartialObjectMetadata) {},
						Present: func(object *metav1.PartialObjectMetadata) { seen <- object.Name }})
				}()
				select {
				case name := <-seen:
					assert.Equal(t, "o", name)
				case <-time.After(time.Minute):
					t.Fatal("no event")
				}
			}
			assert.Eventually(t, func() bool { return used()-before < 24<<20 }, pace.Within(time.Second), 100*time.Millisecond)
			assert.Less(t, used()-before, int64(24<<20))
		})
	}
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

// followAll follows ConfigMaps of a namespace in many watches, at a slow pace, and counts their events.
func followAll(t *testing.T, cluster *Cluster, handled *atomic.Int64) {
	cluster.paces.watches = guard.NewPace(1<<20, 4<<20)
	for range 20 {
		go func() {
			_ = cluster.FollowMetadata(t.Context(), configMapStream, MetadataHandler{Opened: func() {}, Deleted: func(*metav1.PartialObjectMetadata) {},
				Present: func(*metav1.PartialObjectMetadata) { handled.Add(1) }})
		}()
	}
}

// TestFastWatchesAreReadSlowly has many watches of a namespace whose server sends changes without end.
func TestFastWatchesAreReadSlowly(t *testing.T) {
	var sent, handled atomic.Int64
	began := time.Now()
	followAll(t, hostile(t, changes(&sent)), &handled)
	<-time.After(3 * time.Second) // what is read until then
	assert.Less(t, handled.Load(), int64(3000+300*time.Since(began).Seconds()))
	assert.Eventually(t, func() bool { return handled.Load() > 500 }, time.Minute, 10*time.Millisecond, "they are read")
}

// TestListsWithoutEndAreReadSlowly has a server whose lists have one more page each time, which is compressed.
func TestListsWithoutEndAreReadSlowly(t *testing.T) {
	var pages, handled atomic.Int64
	large := `"metadata": {"resourceVersion": "1", "continue": "more"}, "items": [{"metadata": {"name": "` + strings.Repeat("x", 1<<20) + `"}}]}`
	var packed bytes.Buffer
	packing := gzip.NewWriter(&packed)
	_, err := io.WriteString(packing, `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", `+large)
	require.NoError(t, errors.Join(err, packing.Close()))
	listing := watching(silent)
	cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("limit") == "" {
			listing(w, r)
			return
		}
		pages.Add(1)
		w.Header().Set("Content-Encoding", "gzip")
		answerJSON(w, packed.String())
	})
	began := time.Now()
	followAll(t, cluster, &handled)
	<-time.After(3 * time.Second) // what is read until then
	assert.Less(t, pages.Load(), int64(4+16+2*time.Since(began).Seconds()))
	assert.Eventually(t, func() bool { return pages.Load() > 4 }, time.Minute, 10*time.Millisecond, "they are read")
}

// TestManyObjectsAreReadAtOnce has a server with 10000 objects, 2000 of which change.
func TestManyObjectsAreReadAtOnce(t *testing.T) {
	var left atomic.Int64
	left.Store(20 * 500)
	listing := watching(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("resourceVersion") == "1" {
			_, _ = io.WriteString(w, strings.Repeat(`{"type": "MODIFIED", "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "o",
				"resourceVersion": "2"}}}`+"\n", 2000))
		}
		w.(http.Flusher).Flush()
		silent(w, r)
	})
	object := `{"metadata": {"name": "o", "annotations": {"a": "` + strings.Repeat("x", 2500) + `"}}}`
	page := `"items": [` + strings.Repeat(object+",", 499) + object + "]}"
	cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("limit") == "" {
			listing(w, r)
			return
		}
		more := ""
		if left.Add(-500) > 0 {
			more = "more"
		}
		answerJSON(w, `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "1", "continue": "`+more+`"}, `+page)
	})
	cluster.paces.watches = guard.NewPace(guard.PaceRate, guard.PaceBurst)
	began, all, handled := time.Now(), make(chan struct{}), 0
	go func() {
		_ = cluster.FollowMetadata(t.Context(), configMapStream, MetadataHandler{Opened: func() {}, Deleted: func(*metav1.PartialObjectMetadata) {},
			Present: func(*metav1.PartialObjectMetadata) {
				if handled++; handled == 12000 {
					close(all)
				}
			}})
	}()
	<-all
	t.Logf("after %v", time.Since(began))
	assert.Less(t, time.Since(began), pace.Within(3*time.Second))
}

func TestNamespacesHavePacesOfTheirOwn(t *testing.T) {
	clients, err := New(Options{})
	require.NoError(t, err)
	assert.Same(t, clients.pacesOf("one").watches, clients.pacesOf("one").watches)
	assert.NotSame(t, clients.pacesOf("one").watches, clients.pacesOf("other").watches)
}
