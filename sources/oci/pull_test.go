// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var ctx = context.Background()

func TestPullFindsTheLayer(t *testing.T) {
	r := newRegistry(t, false)
	for name, tc := range map[string]struct {
		layers []layer
		accept []string
		want   string
	}{
		"chart":                   {[]layer{{"application/vnd.cncf.helm.chart.provenance.v1.prov", "prov"}, {HelmChartLayer, "chart"}}, []string{HelmChartLayer, HelmChartLayerLegacy}, "chart"},
		"legacy chart":            {[]layer{{HelmChartLayerLegacy, "old"}}, []string{HelmChartLayer, HelmChartLayerLegacy}, "old"},
		"the best accepted first": {[]layer{{HelmChartLayerLegacy, "old"}, {HelmChartLayer, "new"}}, []string{HelmChartLayer, HelmChartLayerLegacy}, "new"},
		"first layer":             {[]layer{{FluxContentLayer, "blueprint"}, {"x/y", "other"}}, nil, "blueprint"},
		"empty layer":             {[]layer{{FluxContentLayer, ""}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ref, manifest := r.push(t, "team/shop", "1.0.0", tc.layers...)
			b, err := newClient(t, nil).Pull(ctx, ref, PullOptions{LayerMediaTypes: tc.accept})
			require.NoError(t, err)
			require.Equal(t, tc.want, string(b.Bytes))
			require.Equal(t, digest.FromString(tc.want), b.Digest)
			require.Equal(t, manifest, b.ManifestDigest)
		})
	}
}

func TestPullAcceptsTheWaysToWriteAReference(t *testing.T) {
	r := newRegistry(t, false)
	ref, manifest := r.push(t, "shop", "1.0.0", layer{HelmChartLayer, "chart"})
	for _, written := range []string{
		ref, "oci://" + ref, "http://" + ref,
		fmt.Sprintf("%s/shop@%s", r.host, manifest),
		fmt.Sprintf("%s@%s", ref, manifest),
	} {
		t.Run(written, func(t *testing.T) {
			b, err := newClient(t, nil).Pull(ctx, written, PullOptions{})
			require.NoError(t, err)
			require.Equal(t, "chart", string(b.Bytes))
		})
	}
}

func TestPullSeesAMovedTag(t *testing.T) {
	r, c := newRegistry(t, false), newClient(t, nil)
	for _, content := range []string{"one", "two"} {
		ref, _ := r.push(t, "shop", "latest", layer{HelmChartLayer, content})
		b, err := c.Pull(ctx, ref, PullOptions{})
		require.NoError(t, err)
		require.Equal(t, content, string(b.Bytes))
	}
}

func TestThousandPullsCauseOneDownload(t *testing.T) {
	r, c := newRegistry(t, false), newClient(t, nil)
	ref, _ := r.push(t, "shop", "1.0.0", layer{HelmChartLayer, "chart"})
	var wg sync.WaitGroup
	limit := make(chan struct{}, 50)
	for range 1000 {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			_, err := c.Pull(ctx, ref, PullOptions{})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	require.Equal(t, 1, r.count("GET blobs"))
	require.Equal(t, 1, r.count("GET manifests"))
	require.Equal(t, 1000, r.count("HEAD manifests"), "every pull proves that it may read")
}

func TestCachedContentNeedsTheCallersOwnCredentials(t *testing.T) {
	r, c := newRegistry(t, false), newClient(t, nil)
	ref, _ := r.push(t, "private", "1.0.0", layer{HelmChartLayer, "secret chart"})
	r.protect("private", "a:1", "b:2")
	good := func(l string) PullOptions {
		return PullOptions{Credentials: credentials(t, map[string]string{r.host: l})}
	}
	_, err := c.Pull(ctx, ref, good("a:1"))
	require.NoError(t, err)
	for name, o := range map[string]PullOptions{"anonymous": {}, "wrong password": good("a:2")} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Pull(ctx, ref, o)
			require.ErrorIs(t, err, ErrUnauthorized)
		})
	}
	t.Run("another good login", func(t *testing.T) {
		_, err := c.Pull(ctx, ref, good("b:2"))
		require.NoError(t, err)
		require.Equal(t, 1, r.count("GET blobs"))
	})
}

// A manifest in an own repository that names a foreign blob does not give access to the cached copy of it.
func TestCachedContentStaysInItsRepository(t *testing.T) {
	private, own, c := newRegistry(t, false), newRegistry(t, false), newClient(t, nil)
	ref, _ := private.push(t, "shop", "1.0.0", layer{HelmChartLayer, "secret chart"})
	_, err := c.Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	stolen := ocispec.Descriptor{MediaType: HelmChartLayer, Digest: digest.FromString("secret chart"), Size: 12}
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, Config: own.blob(t, "shop", "x/y", []byte("{}")), Layers: []ocispec.Descriptor{stolen}}
	ref, _ = own.pushManifest(t, "shop", "1.0.0", ocispec.MediaTypeImageManifest, m)
	_, err = c.Pull(ctx, ref, PullOptions{})
	require.ErrorIs(t, err, ErrNotFound)
}

func TestPullExplainsFailures(t *testing.T) {
	r := newRegistry(t, false)
	ref, _ := r.push(t, "shop", "1.0.0", layer{HelmChartLayer, strings.Repeat("x", 100)})
	r.push(t, "private", "1.0.0", layer{HelmChartLayer, "chart"})
	r.protect("private", "user:right")
	r.push(t, "empty", "1.0.0")
	index, _ := r.pushManifest(t, "shop", "index", ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}})
	evil := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, Layers: []ocispec.Descriptor{{MediaType: HelmChartLayer, Digest: "sha256:../../../x", Size: 1}}}
	badDigest, _ := r.pushManifest(t, "evil", "1.0.0", "application/vnd.example.manifest", evil)
	for name, tc := range map[string]struct {
		ref     string
		options PullOptions
		kind    error
		says    []string
	}{
		"no such tag":        {r.host + "/shop:9", PullOptions{}, ErrNotFound, []string{"could not resolve it", "check host, repository and tag"}},
		"no such repository": {r.host + "/web:1", PullOptions{}, ErrNotFound, []string{"could not resolve it"}},
		"no credentials":     {r.host + "/private:1.0.0", PullOptions{}, ErrUnauthorized, []string{"add a pull secret with an entry for this host"}},
		"wrong credentials":  {r.host + "/private:1.0.0", PullOptions{Credentials: credentials(t, map[string]string{r.host: "user:wrong-password"})}, ErrUnauthorized, []string{"answers 401", "correct the pull secret"}},
		"other host's":       {r.host + "/private:1.0.0", PullOptions{Credentials: credentials(t, map[string]string{"example.com": "user:right"})}, ErrUnauthorized, []string{"none of the given secrets"}},
		"too large":          {ref, PullOptions{MaxBytes: 99}, ErrTooLarge, []string{"its layer has 100 bytes, more than the 99 allowed"}},
		"other layers":       {ref, PullOptions{LayerMediaTypes: []string{FluxContentLayer}}, ErrInvalid, []string{"no layer of type " + FluxContentLayer, "its layers are " + HelmChartLayer}},
		"no layers":          {r.host + "/empty:1.0.0", PullOptions{}, ErrInvalid, []string{"has no layers"}},
		"index":              {index, PullOptions{}, ErrInvalid, []string{"index of several artifacts", "by its digest"}},
		"bad layer digest":   {badDigest, PullOptions{}, ErrInvalid, []string{"its layer has no usable digest"}},
		"no tag":             {r.host + "/shop", PullOptions{}, ErrInvalid, []string{"neither tag nor digest"}},
		"not a reference":    {"shop", PullOptions{}, ErrInvalid, []string{"not an OCI reference"}},
		"path traversal":     {r.host + "/../shop:1", PullOptions{}, ErrInvalid, []string{"not an OCI reference"}},
		"userinfo":           {"https://user:hunter2@" + r.host + "/shop:1", PullOptions{}, ErrInvalid, []string{"https://<hidden>@"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newClient(t, nil).Pull(ctx, tc.ref, tc.options)
			require.ErrorIs(t, err, tc.kind)
			for _, says := range tc.says {
				require.ErrorContains(t, err, says)
			}
			for _, secret := range []string{"wrong-password", "hunter2", r.URL} {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
}

func TestPullRefusesSpoiledContent(t *testing.T) {
	for name, tc := range map[string]struct{ path, body string }{
		"layer of the same length": {"/blobs/", "chArt"},
		"manifest":                 {"/manifests/sha256:", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t, false)
			ref, _ := r.push(t, "shop", "1.0.0", layer{HelmChartLayer, "chart"})
			r.spoil = func(w http.ResponseWriter, req *http.Request) bool {
				if req.Method != http.MethodGet || !strings.Contains(req.URL.Path, tc.path) {
					return false
				}
				w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
				_, _ = w.Write([]byte(tc.body))
				return true
			}
			c := newClient(t, nil)
			_, err := c.Pull(ctx, ref, PullOptions{})
			require.ErrorContains(t, err, "could not download its "+strings.Fields(name)[0])
			if tc.body != "" {
				require.ErrorIs(t, err, ErrDigest)
			}
			r.spoil = nil
			b, err := c.Pull(ctx, ref, PullOptions{})
			require.NoError(t, err, "nothing wrong was kept")
			require.Equal(t, "chart", string(b.Bytes))
		})
	}
}

func TestServerErrorsAreRetriedAndHidden(t *testing.T) {
	r := newRegistry(t, false)
	ref, _ := r.push(t, "shop", "1.0.0", layer{HelmChartLayer, "chart"})
	var failures atomic.Int32
	r.spoil = func(w http.ResponseWriter, _ *http.Request) bool {
		if failures.Add(-1) < 0 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"errors":[{"code":"UNAVAILABLE","message":"see https://x/?sig=hunter2 for hunter3"}]}`))
		return true
	}
	o := PullOptions{Credentials: credentials(t, map[string]string{r.host: "user:hunter3"})}
	failures.Store(2)
	_, err := newClient(t, nil).Pull(ctx, ref, o)
	require.NoError(t, err)
	failures.Store(1000)
	_, err = newClient(t, nil).Pull(ctx, ref, o)
	require.ErrorContains(t, err, "answers 503")
	require.NotContains(t, err.Error(), "hunter")
	var typed *Error
	require.ErrorAs(t, err, &typed)
	require.NoError(t, typed.Kind, "worth another try")
}

func TestUnreachableRegistry(t *testing.T) {
	r := newRegistry(t, false)
	r.Close()
	_, err := newClient(t, nil).Pull(ctx, r.host+"/shop:1", PullOptions{})
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, err, "it is tried again")
}

func TestCancelledPull(t *testing.T) {
	r := newRegistry(t, false)
	ref, _ := r.push(t, "shop", "1.0.0", layer{HelmChartLayer, "chart"})
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := newClient(t, nil).Pull(ended, ref, PullOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestMirrorStandsInForAHost(t *testing.T) {
	r := newRegistry(t, false)
	r.push(t, "charts/shop", "1.0.0", layer{HelmChartLayer, "chart"})
	for name, tc := range map[string]struct{ endpoint, ref string }{
		"host":      {"http://" + r.host, "europe-docker.pkg.dev/charts/shop:1.0.0"},
		"with path": {"http://" + r.host + "/charts", "oci://europe-docker.pkg.dev/shop:1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, func(o *Options) { o.Mirrors = map[string]string{"europe-docker.pkg.dev": tc.endpoint} })
			b, err := c.Pull(ctx, tc.ref, PullOptions{})
			require.NoError(t, err)
			require.Equal(t, "chart", string(b.Bytes))
		})
	}
}

// The operator's mirror may be plain HTTP: it must not see the credentials meant for the host behind TLS.
func TestMirrorDoesNotReceiveTheCredentialsOfTheHost(t *testing.T) {
	r := newRegistry(t, false)
	r.push(t, "shop", "1.0.0", layer{HelmChartLayer, "chart"})
	r.protect("shop", "user:secret")
	c := newClient(t, func(o *Options) { o.Mirrors = map[string]string{"registry.example.com": "http://" + r.host} })
	_, err := c.Pull(ctx, "registry.example.com/shop:1.0.0", PullOptions{Credentials: credentials(t, map[string]string{"registry.example.com": "user:secret"})})
	require.ErrorIs(t, err, ErrUnauthorized)
	_, err = c.Pull(ctx, "registry.example.com/shop:1.0.0", PullOptions{Credentials: credentials(t, map[string]string{r.host: "user:secret"})})
	require.NoError(t, err)
}

func TestNewRefusesBadOptions(t *testing.T) {
	for _, endpoint := range []string{"", "127.0.0.1:5000", "ftp://x", "http://user:pw@x", "http://x?y"} {
		_, err := New(Options{Mirrors: map[string]string{"a": endpoint}})
		require.ErrorContains(t, err, `registry mirror of "a"`)
		require.NotContains(t, err.Error(), "pw")
	}
	_, err := New(Options{CA: []byte("no certificate")})
	require.ErrorContains(t, err, "holds no certificate")
}

func TestTLS(t *testing.T) {
	r := newRegistry(t, true)
	ref, _ := r.push(t, "shop", "1.0.0", layer{HelmChartLayer, "chart"})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	t.Run("with its CA", func(t *testing.T) {
		_, err := newClient(t, func(o *Options) { o.CA = ca }).Pull(ctx, "https://"+ref, PullOptions{})
		require.NoError(t, err)
	})
	t.Run("without", func(t *testing.T) {
		_, err := newClient(t, nil).Pull(ctx, "https://"+ref, PullOptions{})
		require.ErrorContains(t, err, "certificate")
	})
}

func TestPlainHTTPHosts(t *testing.T) {
	c := newClient(t, func(o *Options) { o.PlainHTTP = []string{"registry.local:5000"} })
	for ref, plain := range map[string]bool{
		"127.0.0.1:5000/a:1":          true,
		"localhost/a:1":               true,
		"localhost:5000/a:1":          true,
		"[::1]:5000/a:1":              true,
		"registry.local:5000/a:1":     true,
		"https://127.0.0.1:5000/a:1":  false,
		"registry.local/a:1":          false,
		"localhost.example.com/a:1":   false,
		"10.0.0.1:5000/a:1":           false,
		"http://registry.example/a:1": true,
		"oci://registry.example/a:1":  false,
		"oci://127.0.0.1:5000/a:1":    true,
	} {
		t.Run(ref, func(t *testing.T) {
			at, err := c.locate(ref, Credentials{}, true)
			require.NoError(t, err)
			require.Equal(t, plain, at.plain)
		})
	}
}

func TestBlobByDigest(t *testing.T) {
	r := newRegistry(t, false)
	ref, _ := r.push(t, "component", "1.0.0", layer{"x/descriptor", "descriptor"}, layer{"x/blob", "local blob"})
	m, err := newClient(t, nil).Manifest(ctx, ref, Credentials{})
	require.NoError(t, err)
	b, err := m.Blob(ctx, digest.FromString("local blob"), 0)
	require.NoError(t, err)
	require.Equal(t, "local blob", string(b.Bytes))
	b, err = m.Blob(ctx, m.Config.Digest, 0)
	require.NoError(t, err)
	require.Equal(t, "{}", string(b.Bytes))
	_, err = m.Blob(ctx, digest.FromString("other"), 0)
	require.ErrorIs(t, err, ErrNotFound)
}

func TestTags(t *testing.T) {
	r := newRegistry(t, false)
	for _, tag := range []string{"1.0.0", "1.1.0"} {
		r.push(t, "shop", tag, layer{HelmChartLayer, tag})
	}
	tags, err := newClient(t, nil).Tags(ctx, "oci://"+r.host+"/shop", Credentials{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"1.0.0", "1.1.0"}, tags)
	_, err = newClient(t, nil).Tags(ctx, r.host+"/web", Credentials{})
	require.ErrorIs(t, err, ErrNotFound)
}

func TestBearerTokensBelongToTheirLogin(t *testing.T) {
	var r *testRegistry
	issued := map[string]string{}
	tokens := http.NewServeMux()
	tokens.HandleFunc("/token", func(w http.ResponseWriter, req *http.Request) {
		user, password, _ := req.BasicAuth()
		if user+":"+password != "user:right" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		issued["t"] = user
		_, _ = w.Write([]byte(`{"token":"t"}`))
	})
	auth := httptest.NewServer(tokens)
	defer auth.Close()
	r = newRegistry(t, false)
	ref, _ := r.push(t, "shop", "1.0.0", layer{HelmChartLayer, "chart"})
	r.spoil = func(w http.ResponseWriter, req *http.Request) bool {
		if req.Header.Get("Authorization") == "Bearer t" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+auth.URL+`/token",service="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	c := newClient(t, nil)
	_, err := c.Pull(ctx, ref, PullOptions{Credentials: credentials(t, map[string]string{r.host: "user:right"})})
	require.NoError(t, err)
	require.Len(t, issued, 1)
	for _, o := range []PullOptions{{}, {Credentials: credentials(t, map[string]string{r.host: "user:wrong"})}} {
		_, err = c.Pull(ctx, ref, o)
		require.ErrorIs(t, err, ErrUnauthorized)
	}
}

func TestCacheKeepsItsLimit(t *testing.T) {
	c := newCache(100)
	key := func(i int) cacheKey { return cacheKey{"home", digest.FromString(fmt.Sprint(i))} }
	for i := range 10 {
		c.add(key(i), make([]byte, 30))
		_, _ = c.get(key(0))
	}
	require.LessOrEqual(t, c.used, int64(100))
	_, kept := c.get(key(0))
	require.True(t, kept, "the most used stays")
	_, kept = c.get(key(1))
	require.False(t, kept)
	c.add(key(99), make([]byte, 51))
	_, kept = c.get(key(99))
	require.False(t, kept, "one large blob does not push the others out")
}

func TestErrorsJoinKindAndContext(t *testing.T) {
	err := error(&Error{Kind: ErrNotFound, Cause: context.DeadlineExceeded})
	require.True(t, errors.Is(err, ErrNotFound) && errors.Is(err, context.DeadlineExceeded))
}
