// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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
	} {
		method, path, hasMethod := strings.Cut(request, " ")
		if !hasMethod {
			method, path = http.MethodGet, request
		}
		assert.Equal(t, want, g.kindOf(httptest.NewRequest(method, "https://x/k8s/clusters/c-1"+path, nil)), request)
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

func TestLongStatusIsCut(t *testing.T) {
	long, contentType := statusOf([]byte(`{"kind": "Status", "code": 422, "reason": "Invalid", "message": "` + strings.Repeat("ä", 100_000) + `"}`))
	assert.Less(t, len(long), 2*maxMessage)
	assert.Equal(t, "application/json", contentType)
	assert.Contains(t, string(long), `"code":422`)
}
