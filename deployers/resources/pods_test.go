// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
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

func TestALogLineThatIsCutInASecretDoesNotShowItsBeginning(t *testing.T) {
	secret := strings.Repeat("0123456789abcdef", 200)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limitBytes"))
		assert.NoError(t, err)
		_, _ = w.Write([]byte("cannot log in with " + secret)[:limit])
	}))
	defer server.Close()
	s := &ReadinessChecks{Session: &Session{Cluster: &target.Cluster{Config: &rest.Config{Host: server.URL}}}, Confidential: func() []string { return []string{secret, "other"} }}

	line := s.lastLine(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}, "main", false)

	assert.Equal(t, "cannot log in with", line)
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

func TestOfALogNoMoreIsReadThanAsked(t *testing.T) {
	for name, tc := range map[string]struct{ secrets, read int }{
		"as many secrets as are looked for": {maxConfidential, maxLogBytes},
		"more":                              {maxConfidential + 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			log := &endless{}
			s := &ReadinessChecks{Session: &Session{Cluster: &target.Cluster{Config: &rest.Config{Transport: log}}},
				Confidential: func() []string { return slices.Repeat([]string{"secret"}, tc.secrets) }}
			line := s.lastLine(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}, "main", false)
			assert.Equal(t, tc.read > 0, line != "", line)
			assert.Equal(t, tc.read, log.read)
		})
	}
}

func TestBeginningsOfSecretsAtTheEndOfALog(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		secrets []string
		want    string
	}{
		"no secrets":            {"a text", nil, "a text"},
		"nothing of a secret":   {"a text", []string{"secret", "other"}, "a text"},
		"the first character":   {"a text s", []string{"a-secret", "secret"}, "a text "},
		"the longest beginning": {"a text abcab", []string{"abx", "abcabx", "b"}, "a text "},
		"the whole text":        {"secr", []string{"secret"}, ""},
		"a whole secret":        {"a secret", []string{"secret"}, "a "},
		"in the middle":         {"a secr text", []string{"secret"}, "a secr text"},
		"one of many":           {"a text-m", []string{"a", "b", "-mn", "-z", "z"}, "a text"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, withoutBeginning(tc.text, tc.secrets))
		})
	}
}

// TestSecretsAreFoundInALogInLittleTime has as many secrets as are looked for, which nearly are in the log at each place.
func TestSecretsAreFoundInALogInLittleTime(t *testing.T) {
	text := strings.Repeat("a", maxLogBytes)
	secrets := slices.Repeat([]string{text[:maxLogBytes/2] + "b" + text[:maxLogBytes/4]}, maxConfidential)
	began := time.Now()
	masked(withoutBeginning(text+"b", secrets), secrets)
	assert.Less(t, time.Since(began), pace.Within(500*time.Millisecond))
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
