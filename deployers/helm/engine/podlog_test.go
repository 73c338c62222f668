// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"io"
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

// jobAt returns a client of a server that answers with a list of Pods, and a hook that is a Job there.
func jobAt(t *testing.T, list string) (*kubernetes.Clientset, *resource.Info) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/api/v1/namespaces/shop/pods", r.URL.Path)
		assert.Equal(t, fmt.Sprint(maxHookPods), r.URL.Query().Get("limit"))
		assert.Equal(t, "job-name=migrate", r.URL.Query().Get("labelSelector"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, list)
	}))
	t.Cleanup(server.Close)
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	return clients, &resource.Info{
		Namespace: "shop", Name: "migrate", Mapping: &meta.RESTMapping{GroupVersionKind: batchv1.SchemeGroupVersion.WithKind("Job")},
	}
}

func TestTheNewestPodOfAJobIsOneOfThoseAskedFor(t *testing.T) {
	const pod = `{"metadata": {"name": "%s", "creationTimestamp": "%d-01-01T00:00:00Z"}},`
	clients, hook := jobAt(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "PodList", "items": [%s%s%s{}]}`,
		fmt.Sprintf(pod, "newer", 2001), strings.Repeat(fmt.Sprintf(pod, "older", 2000), maxHookPods-1), fmt.Sprintf(pod, "unasked", 2002)))
	found := podOf(t.Context(), clients, hook)
	require.NotNil(t, found)
	assert.Equal(t, "newer", found.Name)
}

func TestPodsWithoutEndOfAHookFillNoMemory(t *testing.T) {
	clients, hook := jobAt(t, `{"apiVersion": "v1", "kind": "PodList", "items": [{}`+strings.Repeat(",{}", 100_000)+"]}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	assert.NotNil(t, podOf(t.Context(), clients, hook))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}
