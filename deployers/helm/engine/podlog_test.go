// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestTheNewestPodOfAJobIsOneOfThoseAskedFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if name, isOne := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/shop/pods/"); isOne {
			fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q}}`, name)
			return
		}
		assert.Equal(t, fmt.Sprint(maxHookPods), r.URL.Query().Get("limit"))
		assert.Equal(t, "job-name=migrate", r.URL.Query().Get("labelSelector"))
		pod := `{"metadata": {"name": "%s", "creationTimestamp": "%d-01-01T00:00:00Z"}},`
		fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "PodList", "items": [%s%s%s{}]}`,
			fmt.Sprintf(pod, "newer", 2001), strings.Repeat(fmt.Sprintf(pod, "older", 2000), maxHookPods-1), fmt.Sprintf(pod, "unasked", 2002))
	}))
	defer server.Close()
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	hook := &resource.Info{Namespace: "shop", Name: "migrate", Mapping: &meta.RESTMapping{GroupVersionKind: batchv1.SchemeGroupVersion.WithKind("Job")}}
	pod := podOf(t.Context(), clients, hook)
	require.NotNil(t, pod)
	assert.Equal(t, "newer", pod.Name)
}

func TestPodsWithoutEndOfAHookFillNoMemory(t *testing.T) {
	list := `{"apiVersion": "v1", "kind": "PodList", "items": [{}` + strings.Repeat(",{}", 100_000) + "]}"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(list))
	}))
	defer server.Close()
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	hook := &resource.Info{Namespace: "shop", Name: "migrate", Mapping: &meta.RESTMapping{GroupVersionKind: batchv1.SchemeGroupVersion.WithKind("Job")}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	assert.Nil(t, podOf(t.Context(), clients, hook))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}
