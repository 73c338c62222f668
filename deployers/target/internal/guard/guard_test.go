// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

func TestKindOfAnswers(t *testing.T) {
	g := &guard{prefix: "/k8s/clusters/c-1/"}
	for request, want := range map[string]answerKind{
		"/api": discoveryAnswer, "/apis": discoveryAnswer, "/api/v1": versionAnswer, "/apis/apps/v1": versionAnswer, "/apis/apps": discoveryAnswer,
		"/version": anyAnswer, "/openapi/v3": anyAnswer, "/healthz": anyAnswer, "/api/v1/namespaces/n/pods/p/log": anyAnswer,
		"/api/v1/namespaces/n/services/s/proxy/x": anyAnswer, "/api/v1/namespaces/log": oneAnswer, "/api/v1/namespaces/n/configmaps/x": oneAnswer,
		"/api/v1/pods?watch=true": watchAnswer, "/apis/apps/v1/deployments?watch=1": watchAnswer, "/apis/apps/v1/deployments?watch=false": objectAnswer,
		"/api?watch=true": discoveryAnswer, "/api/v1/namespaces": objectAnswer, "/api/v1/namespaces/n/configmaps": objectAnswer, "/apis/apps/v1/x/status": oneAnswer,
		"DELETE /api/v1/namespaces/n/configmaps": objectAnswer, "DELETE /api/v1/namespaces/n/configmaps/x": oneAnswer,
		"POST /api/v1/namespaces/n/configmaps": oneAnswer, "PATCH /api/v1/nodes/n": oneAnswer,
		"/api/v1/namespaces/n/pods/log": oneAnswer, "/apis/apps/v1/namespaces/n/deployments/log": oneAnswer, "/api/v1/nodes/n/proxy/x": anyAnswer,
		"POST /api/v1/namespaces/n/serviceaccounts/proxy/token": oneAnswer, "/api/v1/namespaces/pods/configmaps/log": oneAnswer,
	} {
		method, path, hasMethod := strings.Cut(request, " ")
		if !hasMethod {
			method, path = http.MethodGet, request
		}
		assert.Equal(t, want, g.kindOf(httptest.NewRequest(method, "https://x/k8s/clusters/c-1"+path, nil)), request)
	}
}

// Clients clean the path of the URL of a server.
func TestKindOfAnswersOfServersWithAPath(t *testing.T) {
	for _, server := range []string{"https://x", "https://x/", "https://x/b", "https://x/b/", "https://x/a/../b", "https://x//b", "https://x/a/%2e%2e/b", "https://x/./b"} {
		host, err := url.Parse(server)
		require.NoError(t, err)
		client, err := rest.NewRESTClient(host, "", rest.ClientContentConfig{}, nil, nil)
		require.NoError(t, err)
		asked := client.Get().AbsPath("/api/v1/namespaces/n/secrets/s").URL()
		g := &guard{prefix: pathOf(server)}
		assert.Equal(t, oneAnswer, g.kindOf(httptest.NewRequest(http.MethodGet, asked.String(), nil)), "%s: %s", server, asked)
	}
}

func TestT04RetryAfterIsShort(t *testing.T) {
	for given, want := range map[string]string{"86400": "5", "3": "3", "-1": "", "soon": "", "": ""} {
		header := http.Header{}
		header.Set("Retry-After", given)
		limitRetryAfter(header)
		assert.Equal(t, want, header.Get("Retry-After"), given)
	}
}

// protobufOf returns an object in protobuf, as API servers send it.
func protobufOf(t *testing.T, kind string, object interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := object.Marshal()
	require.NoError(t, err)
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	message, err := envelope.Marshal()
	require.NoError(t, err)
	return append(slices.Clone(protobufPrefix), message...)
}

// TestOfErrorsOnlyAStatusIsLeft has errors in each form in which clients decode them.
func TestOfErrorsOnlyAStatusIsLeft(t *testing.T) {
	refused := &metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden, Message: "no"}
	for name, content := range map[string][]byte{
		"protobuf": protobufOf(t, "Status", refused),
		"JSON":     []byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no", "spec": {"overhead": {"cpu": "1e9"}}}`),
	} {
		assert.JSONEq(t, `{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"}`,
			string(statusOf(content)), name)
	}
	for name, content := range map[string][]byte{
		"a Pod in protobuf": protobufOf(t, "Pod", &corev1.Pod{}),
		"a Pod":             []byte(`{"kind": "Pod", "apiVersion": "v1"}`),
		"two kinds":         []byte(`{"kind": "Status", "Kind": "Pod", "apiVersion": "v1"}`),
		"no protobuf":       append(slices.Clone(protobufPrefix), "none"...),
	} {
		assert.Empty(t, statusOf(content), name)
	}
}

func TestLongStatusIsCut(t *testing.T) {
	long := statusOf([]byte(`{"kind": "Status", "code": 422, "reason": "Invalid", "message": "` + strings.Repeat("ä", 100_000) + `"}`))
	assert.Less(t, len(long), 2*maxMessage)
	assert.Contains(t, string(long), `"code":422`)
}
