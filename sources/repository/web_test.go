// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestWebContent(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := requests.Add(1); {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/file", http.StatusFound)
		case r.URL.Path == "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case r.URL.Path == "/shaky" && n%2 == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/secret":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/endless":
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1<<16))
			}
		default:
			_, _ = io.WriteString(w, "hello")
		}
	}))
	defer server.Close()
	web := func(path string) string { return "{type: wget, url: '" + server.URL + path + "'}" }
	known := digested("genericBlobDigest/v1", digest.FromString("hello").Encoded())
	s := arrange(t, registry.Start(t, registry.Options{}), line("file", "x", web("/file"), "")+line("known", "x", web("/known"), known)+
		line("moved", "x", web("/moved"), "")+line("loop", "x", web("/loop"), "")+line("shaky", "x", web("/shaky"), "")+
		line("gone", "x", web("/gone"), "")+line("secret", "x", web("/secret?token=hunter2"), "")+line("endless", "x", web("/endless"), ""),
		func(o *Options) { o.MaxDownload = 1 << 20 })
	for _, name := range []string{"file", "known", "moved", "shaky"} {
		t.Run(name, func(t *testing.T) {
			got, err := s.content(t, name)
			require.NoError(t, err)
			assert.Equal(t, "hello", got)
		})
	}
	for name, kind := range map[string]fault.Kind{"gone": fault.Stalled, "secret": fault.Stalled, "endless": fault.Stalled, "loop": fault.Retry} {
		t.Run(name, func(t *testing.T) {
			_, err := s.content(t, name)
			require.Error(t, err)
			assert.Equal(t, kind, fault.KindOf(err), err)
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
	requests.Store(0)
	_, err := s.content(t, "known")
	require.NoError(t, err)
	assert.Zero(t, requests.Load(), "content with a digest is kept")
	_, err = s.content(t, "file")
	require.NoError(t, err)
	assert.EqualValues(t, 1, requests.Load(), "content without one may have changed")
}

func TestM05PrivateServersAreRefusedWhereTheOperatorWants(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { requests.Add(1) }))
	defer server.Close()
	s := arrange(t, registry.Start(t, registry.Options{}),
		line("web", "x", "{type: wget, url: '"+server.URL+"'}", "")+
			line("helm", "helmChart", "{type: helm, helmRepository: '"+server.URL+"', helmChart: web, version: '1'}", "")+
			line("git", "x", "{type: git, repository: '"+server.URL+"', ref: main}", ""),
		func(o *Options) { o.PublicOnly = true })
	for _, name := range []string{"web", "helm", "git"} {
		t.Run(name, func(t *testing.T) {
			_, err := s.content(t, name)
			assert.ErrorContains(t, err, "private")
			assert.Equal(t, fault.Stalled, fault.KindOf(err), err)
		})
	}
	assert.Zero(t, requests.Load())
}

func TestNamesOfAPrivateNetworkAreNotToldApart(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	told := func(address string) (texts []string) {
		s := arrange(t, registry.Start(t, registry.Options{}),
			line("web", "x", "{type: wget, url: '"+address+"'}", "")+
				line("helm", "helmChart", "{type: helm, helmRepository: '"+address+"', helmChart: web, version: '1'}", "")+
				line("git", "x", "{type: git, repository: '"+address+"', ref: main}", ""),
			func(o *Options) { o.PublicOnly = true })
		for _, name := range []string{"web", "helm", "git"} {
			_, err := s.content(t, name)
			require.Error(t, err)
			texts = append(texts, fmt.Sprint(fault.KindOf(err), strings.ReplaceAll(err.Error(), address, "<server>")))
		}
		return texts
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	assert.Equal(t, told("http://localhost:"+port), told("http://nobody.invalid:"+port))
}

func TestChartOfAHelmRepository(t *testing.T) {
	content := "packaged chart"
	sum := digest.FromString(content)
	mux := http.NewServeMux()
	mux.HandleFunc("/charts/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "apiVersion: v1\nentries:\n  web:\n  - {version: 1.0.0, urls: [files/web-1.0.0.tgz], digest: %s}\n  - {version: v2.0.0, urls: [/elsewhere.tgz], digest: %s}\n", sum.Encoded(), digest.FromString("other").Encoded())
	})
	mux.HandleFunc("/charts/files/web-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) })
	mux.HandleFunc("/elsewhere.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) })
	server := httptest.NewServer(mux)
	defer server.Close()
	helm := func(version string) string {
		return fmt.Sprintf("{type: helm, helmRepository: '%s/charts/', helmChart: web, version: '%s'}", server.URL, version)
	}
	s := arrange(t, registry.Start(t, registry.Options{}), line("right", "helmChart", helm("1.0.0"), "")+line("changed", "helmChart", helm("2.0.0"), "")+line("missing", "helmChart", helm("3.0.0"), ""), nil)
	got, err := s.content(t, "right")
	require.NoError(t, err)
	assert.Equal(t, content, got)
	for _, name := range []string{"changed", "missing"} {
		t.Run(name, func(t *testing.T) {
			_, err := s.content(t, name)
			require.Error(t, err)
			assert.Equal(t, fault.Stalled, fault.KindOf(err), err)
		})
	}
}
