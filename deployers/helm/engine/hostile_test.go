// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// answering returns a cluster that gives an answer of its own to some requests: what answer returns unless it is empty.
func answering(cluster *target.Cluster, answer func(*http.Request) string) *target.Cluster {
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			text := answer(r)
			if text == "" {
				return next.RoundTrip(r)
			}
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(text)),
			}, nil
		})
	})
	return &copied
}

func TestNullInAListOfTheClusterEndsNoProcess(t *testing.T) {
	e := newEngine(t)
	var isLive atomic.Bool
	request := engine.Request{
		Namespace: platform.Shared(t).Namespace(t), Name: "hello", Values: map[string]any{"secret": "a"},
		Cluster: answering(openTarget(t), func(r *http.Request) string {
			if !isLive.Load() || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/serviceaccounts/worker") {
				return ""
			}
			return `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"worker"},"secrets":[null]}`
		}),
		Chart: chartOf(t, e, "1.0.0", map[string]string{
			"templates/account.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: worker}\nsecrets: [{name: {{ .Values.secret }}}]\n",
		}),
	}
	_, err := e.Install(testContext(t), request)
	require.NoError(t, err)
	isLive.Store(true)
	request.Values = map[string]any{"secret": "b"}
	_, err = e.Upgrade(testContext(t), request)
	assert.ErrorContains(t, err, "look for null in lists")
}
