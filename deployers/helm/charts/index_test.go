// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
)

// indexServer offers an index with one version, under a validator that changes with it, to those who send the header login.
type indexServer struct {
	*httptest.Server
	version, login string
	bodies         int
}

func newIndexServer(t *testing.T) *indexServer {
	s := &indexServer{version: "1.0.0", login: "Basic one"}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *indexServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != s.login {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	tag := `"` + s.version + `"`
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.bodies++
	w.Header().Set("ETag", tag)
	fmt.Fprintf(w, "entries: {hello: [{version: %s, urls: [hello.tgz]}]}", s.version)
}

// versionFor looks up the chart with a login.
func (s *indexServer) versionFor(t *testing.T, d *Finder, login string) (string, error) {
	t.Helper()
	auths := []repositoryAuth{{URL: s.URL, AuthHeader: login}}
	item := &contract.Item{DeployItem: &v1alpha1.DeployItem{}}
	entry, err := d.entryOf(t.Context(), item, auths, s.URL, &helmv1alpha1.HelmChartRepo{HelmChartName: "hello", HelmChartVersion: "1.x"})
	if err != nil {
		return "", err
	}
	return entry.Version, nil
}

func newFinder(t *testing.T) *Finder {
	t.Helper()
	e, err := engine.New(engine.Options{})
	require.NoError(t, err)
	d, err := New(e, components.Access{})
	require.NoError(t, err)
	return d
}

func (s *indexServer) lookup(t *testing.T, d *Finder, login string) string {
	t.Helper()
	version, err := s.versionFor(t, d, login)
	require.NoError(t, err)
	return version
}

func TestD10AnIndexIsDownloadedOnce(t *testing.T) {
	s, d := newIndexServer(t), newFinder(t)
	for range 3 {
		assert.Equal(t, "1.0.0", s.lookup(t, d, s.login))
	}
	assert.Equal(t, 1, s.bodies)

	s.version = "1.1.0"
	assert.Equal(t, "1.1.0", s.lookup(t, d, s.login), "a changed index is seen at once")
	assert.Equal(t, 2, s.bodies)
}

func TestD10AnIndexIsRememberedForItsLoginOnly(t *testing.T) {
	s, d := newIndexServer(t), newFinder(t)
	s.lookup(t, d, s.login)
	_, err := s.versionFor(t, d, "Basic two")
	require.ErrorContains(t, err, "answers 401")
	s.login = "Basic two"
	s.lookup(t, d, s.login)
	assert.Equal(t, 2, s.bodies, "what was answered to another login is not asked for by its validator")
}

func TestD10AnIndexIsParsedOnce(t *testing.T) {
	downloads := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		downloads++
		fmt.Fprint(w, "entries: {hello: [{version: 1.0.0, urls: [hello.tgz]}]}")
	}))
	t.Cleanup(server.Close)
	d, what := newFinder(t), download{url: server.URL, limit: maxIndex}
	first, err := d.indexAt(t.Context(), what, server.URL)
	require.NoError(t, err)
	again, err := d.indexAt(t.Context(), what, server.URL)
	require.NoError(t, err)
	assert.Equal(t, 2, downloads, "the server names no validator")
	assert.Same(t, &first["hello"][0], &again["hello"][0])
}

func TestWhatIsRememberedOfDownloadsIsSmallWhateverTheirAddress(t *testing.T) {
	for name, key := range map[string]any{"an index": asked{}, "a chart": seen{}} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, uintptr(3*sha256.Size), reflect.TypeOf(key).Size(), "hashes alone")
		})
	}
}

func TestAServerThatClaimsAnUnknownIndexIsUnchanged(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }))
	t.Cleanup(server.Close)
	_, err := newFinder(t).indexAt(t.Context(), download{url: server.URL, limit: maxIndex}, server.URL)
	require.ErrorContains(t, err, "answers 304")
}

func TestAnInvalidIndexShowsNothingOfItself(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "entries: [hidden") }))
	t.Cleanup(server.Close)
	_, err := newFinder(t).indexAt(t.Context(), download{url: server.URL, limit: maxIndex}, server.URL)
	require.ErrorContains(t, err, "publish a valid index")
	assert.False(t, strings.Contains(err.Error(), "hidden"))
}
