// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
		assert.Equal(t, fmt.Sprint(maxHookPods), r.URL.Query().Get("limit"))
		w.Header().Set("Content-Type", "application/json")
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
