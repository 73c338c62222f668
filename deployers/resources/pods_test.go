// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
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
	s := &ReadinessChecks{Session: &Session{Cluster: &target.Cluster{Config: &rest.Config{Host: server.URL}}},
		Confidential: func() []string {
			return ConfidentialIn([]Desired{{Policy: managedresource.ManagePolicy, Object: secret}})
		}}
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = "web", "shop"

	line := s.lastLine(t.Context(), pod, "main", true)

	assert.True(t, strings.HasPrefix(line, "cannot log in with *** [31m at db xxx"), line)
	assert.LessOrEqual(t, len([]rune(line)), maxCause+1)
	s.Confidential = nil
	assert.Empty(t, s.lastLine(t.Context(), pod, "main", true), "nothing is read where nothing can be masked")
}

// endless is a target whose logs do not end. It counts what is read of them.
type endless struct{ read int }

func (e *endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.LimitReader(e, 1<<20))}, nil
}

func (e *endless) Read(into []byte) (int, error) {
	e.read += len(into)
	return copy(into, bytes.Repeat([]byte("x"), len(into))), nil
}

func TestALogLineThatIsTooLongIsNotShown(t *testing.T) {
	log := &endless{}
	s := &ReadinessChecks{Session: &Session{Cluster: &target.Cluster{Config: &rest.Config{Transport: log}}}, Confidential: func() []string { return nil }}

	line := s.lastLine(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}, "main", false)

	assert.Empty(t, line, "it may end with the beginning of a secret")
	assert.Equal(t, maxLogBytes, log.read)
}

func TestLinesOfSecretsAreFoundOnce(t *testing.T) {
	secret := parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: \"long line\\nline\\n\\n\\nline\\nabc\", b: line}}")
	assert.Equal(t, []string{"long line\nline\n\n\nline\nabc", "long line", "line"}, ConfidentialIn([]Desired{{Object: secret}}))
}

// TestPodsThatNobodyCanWorkOutHaveNoTrouble has a Pod of a target that would panic when it became a Go type; a larger exponent would take hours.
func TestPodsThatNobodyCanWorkOutHaveNoTrouble(t *testing.T) {
	pod := parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {overhead: {cpu: '1'}}, status: {phase: Failed}}")
	assert.Len(t, podsOf(t.Context(), nil, pod), 1)
	require.NoError(t, unstructured.SetNestedField(pod.Object, "1234567890123456789e2147483639", "spec", "overhead", "cpu"))
	assert.Empty(t, podsOf(t.Context(), nil, pod))
}
