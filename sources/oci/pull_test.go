// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

var ctx = context.Background()

func TestPullFindsTheLayer(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	for name, tc := range map[string]struct {
		layers []registry.Layer
		accept []string
		want   string
	}{
		"chart":                   {[]registry.Layer{layer("application/vnd.cncf.helm.chart.provenance.v1.prov", "prov"), layer(HelmChartLayer, "chart")}, []string{HelmChartLayer, HelmChartLayerLegacy}, "chart"},
		"legacy chart":            {[]registry.Layer{layer(HelmChartLayerLegacy, "old")}, []string{HelmChartLayer, HelmChartLayerLegacy}, "old"},
		"the best accepted first": {[]registry.Layer{layer(HelmChartLayerLegacy, "old"), layer(HelmChartLayer, "new")}, []string{HelmChartLayer, HelmChartLayerLegacy}, "new"},
		"first layer":             {[]registry.Layer{layer(FluxContentLayer, "blueprint"), layer("x/y", "other")}, nil, "blueprint"},
		"empty layer":             {[]registry.Layer{layer(FluxContentLayer, "")}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ref, manifest := r.Push(t, "team/shop", "1.0.0", tc.layers...)
			b, err := newClient(t, nil).Pull(ctx, ref, PullOptions{}, tc.accept...)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(b.Bytes))
			require.Equal(t, digest.FromString(tc.want), b.Digest)
			require.Equal(t, manifest, b.ManifestDigest)
		})
	}
}

func TestPullAcceptsTheWaysToWriteAReference(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, manifest := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	for _, written := range []string{
		ref, "oci://" + ref, "http://" + ref,
		fmt.Sprintf("%s/shop@%s", r.Host, manifest),
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
	r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
	for _, content := range []string{"one", "two"} {
		ref, _ := r.Push(t, "shop", "latest", layer(HelmChartLayer, content))
		b, err := c.Pull(ctx, ref, PullOptions{})
		require.NoError(t, err)
		require.Equal(t, content, string(b.Bytes))
	}
}

func TestThousandPullsCauseOneDownload(t *testing.T) {
	r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
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
	require.Equal(t, 1, r.Count("GET", "blobs"))
	require.Equal(t, 1, r.Count("GET", "manifests"))
	require.Equal(t, 1000, r.Count("HEAD", "manifests"), "every pull proves that it may read")
}

func TestCachedContentNeedsTheCallersOwnCredentials(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{{Name: "a", Password: "1"}, {Name: "b", Password: "2"}}})
	c := newClient(t, nil)
	ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "secret chart"))
	good := func(l string) PullOptions {
		return PullOptions{Credentials: credentials(t, map[string]string{r.Host: l})}
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
		require.Equal(t, 1, r.Count("GET", "blobs"))
	})
}

// A manifest in an own repository that names a foreign blob does not give access to the cached copy of it.
func TestCachedContentStaysInItsRepository(t *testing.T) {
	private, own, c := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{}), newClient(t, nil)
	ref, _ := private.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "secret chart"))
	_, err := c.Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	stolen := ocispec.Descriptor{MediaType: HelmChartLayer, Digest: digest.FromString("secret chart"), Size: 12}
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, Config: own.PushBlob(t, "shop", "x/y", []byte("{}")), Layers: []ocispec.Descriptor{stolen}}
	ref, _ = own.PushManifest(t, "shop", "1.0.0", ocispec.MediaTypeImageManifest, m)
	_, err = c.Pull(ctx, ref, PullOptions{})
	require.ErrorIs(t, err, ErrNotFound)
}

func TestPullExplainsFailures(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{{Name: "user", Password: "right"}}, Public: []string{"shop", "web", "empty", "evil"}})
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, strings.Repeat("x", 100)))
	r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
	r.Push(t, "empty", "1.0.0")
	index, _ := r.PushManifest(t, "shop", "index", ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}})
	evil := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, Layers: []ocispec.Descriptor{{MediaType: HelmChartLayer, Digest: "sha256:../../../x", Size: 1}}}
	badDigest, _ := r.PushManifest(t, "evil", "1.0.0", "application/vnd.example.manifest", evil)
	_, err := newClient(t, nil).Pull(ctx, ref, PullOptions{}, FluxContentLayer)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "no layer of type "+FluxContentLayer)
	require.ErrorContains(t, err, "its layers are "+HelmChartLayer)
	_, err = newClient(t, func(o *Options) { o.MaxBlob = 99 }).Pull(ctx, ref, PullOptions{})
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "its layer has 100 bytes, more than the 99 allowed")
	for name, tc := range map[string]struct {
		ref     string
		options PullOptions
		kind    error
		says    []string
	}{
		"no such tag":        {r.Host + "/shop:9", PullOptions{}, ErrNotFound, []string{"could not resolve it", "check host, repository and tag"}},
		"no such repository": {r.Host + "/web:1", PullOptions{}, ErrNotFound, []string{"could not resolve it"}},
		"no credentials":     {r.Host + "/private:1.0.0", PullOptions{}, ErrUnauthorized, []string{"add a login for this host (registryPullSecrets of the Context)"}},
		"wrong credentials":  {r.Host + "/private:1.0.0", PullOptions{Credentials: credentials(t, map[string]string{r.Host: "user:wrong-password"})}, ErrUnauthorized, []string{"answers 401", "correct the login for this host and repository (registryPullSecrets of the Context)"}},
		"other host's":       {r.Host + "/private:1.0.0", PullOptions{Credentials: credentials(t, map[string]string{"example.com": "user:right"})}, ErrUnauthorized, []string{"none of those given fits"}},
		"no layers":          {r.Host + "/empty:1.0.0", PullOptions{}, ErrInvalid, []string{"has no layers"}},
		"index":              {index, PullOptions{}, ErrInvalid, []string{"index of several artifacts", "none of them is for", "by its digest"}},
		"bad layer digest":   {badDigest, PullOptions{}, ErrInvalid, []string{"its layer has no usable digest"}},
		"no tag":             {r.Host + "/shop", PullOptions{}, ErrInvalid, []string{"neither tag nor digest"}},
		"not a reference":    {"shop", PullOptions{}, ErrInvalid, []string{"not an OCI reference"}},
		"path traversal":     {r.Host + "/../shop:1", PullOptions{}, ErrInvalid, []string{"not an OCI reference"}},
		"userinfo":           {"https://user:hunter2@" + r.Host + "/shop:1", PullOptions{}, ErrInvalid, []string{"https://<hidden>@"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newClient(t, nil).Pull(ctx, tc.ref, tc.options)
			require.ErrorIs(t, err, tc.kind)
			for _, says := range tc.says {
				require.ErrorContains(t, err, says)
			}
			for _, secret := range []string{"wrong-password", "hunter2", r.URL()} {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
}

func TestPullRefusesSpoiledContent(t *testing.T) {
	for name, tc := range map[string]struct {
		kind string
		body []byte
	}{
		"layer of the same length": {"blobs", []byte("chArt")},
		"layer that is shorter":    {"blobs", []byte("cha")},
		"layer that is longer":     {"blobs", []byte("chart chart")},
		"manifest":                 {"manifests", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.Start(t, registry.Options{})
			ref, manifest := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
			spoiled := registry.Body(ocispec.MediaTypeImageManifest, tc.body)
			r.Break(registry.On("GET", tc.kind, func(r *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
				if tc.kind == "manifests" {
					w.Header().Set("Docker-Content-Digest", manifest.String())
				}
				return spoiled(r, w, request)
			}))
			c := newClient(t, nil)
			_, err := c.Pull(ctx, ref, PullOptions{})
			require.ErrorContains(t, err, "could not download its "+strings.Fields(name)[0])
			require.ErrorIs(t, err, ErrDigest)
			r.Break()
			b, err := c.Pull(ctx, ref, PullOptions{})
			require.NoError(t, err, "nothing wrong was kept")
			require.Equal(t, "chart", string(b.Bytes))
		})
	}
}

func TestAManifestThatOnlyALieAnnouncesBelongsToNobody(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, _ := r.Push(t, "mine", "1.0.0", layer(HelmChartLayer, "chart"))
	c := newClient(t, nil)
	m, err := c.Manifest(ctx, ref, Credentials{})
	require.NoError(t, err)
	r.Break(registry.In("yours", func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		w.Header().Set("Docker-Content-Digest", m.Own.String())
		w.Header().Set("Content-Length", fmt.Sprint(len(m.Raw)))
		return true
	}))
	_, err = c.Manifest(ctx, r.Ref("yours", "1.0.0"), Credentials{})
	require.Error(t, err, "who only knows a digest does not get its content")
}

func TestServerErrorsAreRetriedAndHidden(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	broken := func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"errors":[{"code":"UNAVAILABLE","message":"see https://x/?sig=hunter2 for hunter3"}]}`))
		return true
	}
	o := PullOptions{Credentials: credentials(t, map[string]string{r.Host: "user:hunter3"})}
	r.Break(registry.Times(2, broken))
	_, err := newClient(t, nil).Pull(ctx, ref, o)
	require.NoError(t, err)
	r.Break(registry.On("GET", "", broken))
	_, err = newClient(t, nil).Pull(ctx, ref, o)
	require.ErrorContains(t, err, "answers 503")
	require.NotContains(t, err.Error(), "hunter")
	var typed *fault.Error
	require.ErrorAs(t, err, &typed)
	require.NoError(t, typed.Class, "worth another try")
}

func TestUnreachableRegistry(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	r.Down()
	_, err := newClient(t, nil).Pull(ctx, r.Host+"/shop:1", PullOptions{})
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, err, "it is tried again")
}

func TestCancelledPull(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := newClient(t, nil).Pull(ended, ref, PullOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestMirrorStandsInForAHost(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	r.Push(t, "charts/shop", "1.0.0", layer(HelmChartLayer, "chart"))
	for name, tc := range map[string]struct{ endpoint, ref string }{
		"host":      {"http://" + r.Host, "europe-docker.pkg.dev/charts/shop:1.0.0"},
		"with path": {"http://" + r.Host + "/charts", "oci://europe-docker.pkg.dev/shop:1.0.0"},
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
	r := registry.Start(t, registry.Options{Users: []registry.User{{Name: "user", Password: "secret"}}})
	r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	c := newClient(t, func(o *Options) { o.Mirrors = map[string]string{"registry.example.com": "http://" + r.Host} })
	_, err := c.Pull(ctx, "registry.example.com/shop:1.0.0", PullOptions{Credentials: credentials(t, map[string]string{"registry.example.com": "user:secret"})})
	require.ErrorIs(t, err, ErrUnauthorized)
	_, err = c.Pull(ctx, "registry.example.com/shop:1.0.0", PullOptions{Credentials: credentials(t, map[string]string{r.Host: "user:secret"})})
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
	r := registry.Start(t, registry.Options{TLS: true})
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	t.Run("with its CA", func(t *testing.T) {
		_, err := newClient(t, func(o *Options) { o.CA = r.CA }).Pull(ctx, "https://"+ref, PullOptions{})
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
