// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

func TestTheLastLogLineIsBoundedAndMasked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/api/v1/namespaces/shop/pods/web/log", r.URL.Path)
		assert.Equal(t, "1", r.URL.Query().Get("tailLines"))
		assert.Equal(t, "true", r.URL.Query().Get("previous"))
		_, _ = w.Write([]byte("cannot log in with s3cret-value\x1b[31m at\tdb " + strings.Repeat("x", 500)))
	}))
	defer server.Close()
	secret := parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: "+base64.StdEncoding.EncodeToString([]byte("s3cret-value"))+"}}")
	s := &Checks{Session: &resources.Session{Cluster: &target.Cluster{Config: &rest.Config{Host: server.URL}}},
		Confidential: func() []string {
			return ConfidentialIn([]resources.Desired{{Policy: managedresource.ManagePolicy, Object: secret}})
		}}
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = "web", "shop"

	line := s.lastLine(t.Context(), pod, "main", true)

	assert.True(t, strings.HasPrefix(line, "cannot log in with *** [31m at db xxx"), line)
	assert.LessOrEqual(t, len([]rune(line)), maxCause+1)
	s.Confidential = nil
	assert.Empty(t, s.lastLine(t.Context(), pod, "main", true), "nothing is read where nothing can be masked")
}

func TestALogLineThatIsCutInASecretDoesNotShowItsBeginning(t *testing.T) {
	secret := strings.Repeat("0123456789abcdef", 200)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limitBytes"))
		assert.NoError(t, err)
		_, _ = w.Write([]byte("cannot log in with " + secret)[:limit])
	}))
	defer server.Close()
	s := &Checks{Session: &resources.Session{Cluster: &target.Cluster{Config: &rest.Config{Host: server.URL}}}, Confidential: func() []string { return []string{secret, "other"} }}

	line := s.lastLine(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}, "main", false)

	assert.Equal(t, "cannot log in with", line)
}

// TestPodsThatNobodyCanWorkOutHaveNoTrouble has a Pod of a target that would panic when it became a Go type; a larger exponent would take hours.
func TestPodsThatNobodyCanWorkOutHaveNoTrouble(t *testing.T) {
	pod := parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {overhead: {cpu: '1'}}, status: {phase: Failed}}")
	assert.Len(t, podsOf(t.Context(), nil, pod), 1)
	require.NoError(t, unstructured.SetNestedField(pod.Object, "1234567890123456789e2147483639", "spec", "overhead", "cpu"))
	assert.Empty(t, podsOf(t.Context(), nil, pod))
}
