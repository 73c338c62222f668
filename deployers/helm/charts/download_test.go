// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/tests/largekey"
)

func TestAuthoritiesWithLargeKeysAreRefused(t *testing.T) {
	large := largekey.Certificate(t, egress.LargestKey+1)
	for _, data := range []string{string(large), base64.StdEncoding.EncodeToString(large)} {
		_, err := certificatePool(data)
		require.ErrorContains(t, err, "use a smaller key")
	}
	_, err := certificatePool(string(largekey.Certificate(t, egress.LargestKey)))
	require.NoError(t, err)
}

func TestLongestPrefix(t *testing.T) {
	auths := []repositoryAuth{
		{URL: "https://example.org"}, {URL: "https://example.org/charts/"}, {URL: "example.org/charts/private"}, {URL: ""},
	}
	for location, want := range map[string]string{
		"https://example.org/index.yaml":                "https://example.org",
		"https://example.org/charts/index.yaml":         "https://example.org/charts/",
		"https://example.org/charts/private/a.tgz":      "example.org/charts/private",
		"https://example.org/charts/privateer/a.tgz":    "https://example.org/charts/",
		"https://example.org.evil.example/charts/a.tgz": "",
		"http://example.org/charts/a.tgz":               "",
		"https://other.example/charts":                  "",
	} {
		t.Run(location, func(t *testing.T) {
			found := longestPrefix(auths, location)
			if want == "" {
				assert.Nil(t, found)
				return
			}
			require.NotNil(t, found)
			assert.Equal(t, want, found.URL)
		})
	}
}

func TestResolveURL(t *testing.T) {
	for location, want := range map[string]string{
		"a.tgz":                     "https://example.org/charts/a.tgz",
		"files/a.tgz":               "https://example.org/charts/files/a.tgz",
		"/a.tgz":                    "https://example.org/a.tgz",
		"https://cdn.example/a.tgz": "https://cdn.example/a.tgz",
		"file:///etc/passwd":        "",
		"oci://example.org/a:1.0.0": "oci://example.org/a:1.0.0",
	} {
		t.Run(location, func(t *testing.T) {
			resolved, err := resolveURL("https://example.org/charts", location)
			assert.Equal(t, want, resolved)
			assert.Equal(t, want == "", err != nil)
		})
	}
}

func TestShownHidesCredentials(t *testing.T) {
	assert.Equal(t, "https://example.org/a.tgz", shown("https://user:secret@example.org/a.tgz?token=secret#secret"))
}

func TestL3AnotherServerSeesNoLogin(t *testing.T) {
	var seen atomic.Value
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen.Store(r.Header.Get("Authorization")) }))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.RedirectHandler(other.URL+"/a.tgz", http.StatusFound))
	t.Cleanup(first.Close)
	_, err := newDownloader(false).get(t.Context(), download{url: first.URL, authorization: "Basic secret", limit: 1})
	require.NoError(t, err)
	assert.Equal(t, "", seen.Load())
}

func TestAProcessThatDidNotReadAChartIsAskedAgain(t *testing.T) {
	failure := protocol.AsFailure("", badChart("chart.ref", fmt.Errorf("load: %w", engine.ErrNotRun)))
	assert.Equal(t, protocol.Retry, failure.Kind)
	assert.Equal(t, "RenderProcessEnded", failure.Reason)
}
