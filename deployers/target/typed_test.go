// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// servedTypes are the kinds of a server.
const servedTypes = `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [
	{"name": "secrets", "kind": "Secret", "namespaced": true, "verbs": ["get", "list"]},
	{"name": "namespaces", "kind": "Namespace", "verbs": ["create"]},
	{"name": "serviceaccounts", "kind": "ServiceAccount", "namespaced": true, "verbs": ["get"]}]}`

// endlessPod is a Pod with a quantity that takes hours to decode.
const endlessPod = `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"overhead": {"cpu": "1e1000000000"}}}`

// always answers the same, but on the path of the kinds.
func always(contentType, answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, servedTypes)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, answer)
	}
}

// TestAnswersWithCodesOfNoAPIServerAreRefused has codes for which clients decode what comes, or keep the connection.
func TestAnswersWithCodesOfNoAPIServerAreRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusMultiStatus, 299} {
		cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1" {
				always("application/json", endlessPod)(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, endlessPod)
		})
		secret := &corev1.Secret{}
		secret.Namespace, secret.Name = "n", "a"
		require.ErrorIs(t, cluster.Client.Delete(t.Context(), secret), errForeign, code)
		require.ErrorIs(t, getConfigMap(t.Context(), cluster), errForeign, code)
	}
}

// TestNoConnectionIsSwitched has a server take the connection of a request over.
func TestNoConnectionIsSwitched(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Type: application/json\r\n\r\n"+endlessPod)
		_ = conn.Close() // which ends the answer
	}))
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	require.ErrorIs(t, getConfigMap(t.Context(), opened(t, server, Options{})), errForeign)
}
