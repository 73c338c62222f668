// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// child pushes an artifact without a tag and returns its entry for an index.
func child(t *testing.T, r *registry.Registry, content, platform string) ocispec.Descriptor {
	t.Helper()
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: r.PushBlob(t, "shop", "x/config", []byte("{}")), Layers: []ocispec.Descriptor{r.PushBlob(t, "shop", "x/layer", []byte(content))}}
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	d := ocispec.Descriptor{MediaType: m.MediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	r.PushManifest(t, "shop", string(d.Digest), m.MediaType, raw)
	if parts := append(strings.Split(platform, "/"), ""); platform != "" {
		d.Platform = &ocispec.Platform{OS: parts[0], Architecture: parts[1], Variant: parts[2]}
	}
	return d
}

func pushIndex(t *testing.T, r *registry.Registry, tag, mediaType string, manifests ...ocispec.Descriptor) (string, digest.Digest) {
	t.Helper()
	return r.PushManifest(t, "shop", tag, mediaType, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: mediaType, Manifests: manifests})
}

func TestAnIndexIsFollowed(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	here, other := "linux/"+runtime.GOARCH, "linux/s390x"
	a, b := child(t, r, "here", here), child(t, r, "other", other)
	attestation := child(t, r, "attestation", "unknown/unknown")
	v7, v8 := child(t, r, "v7", "linux/arm/v7"), child(t, r, "v8", "linux/arm/v8")
	bare := child(t, r, "bare", "")
	for name, tc := range map[string]struct {
		manifests []ocispec.Descriptor
		platform  string
		want      string
	}{
		"of this process":               {[]ocispec.Descriptor{b, a}, "", "here"},
		"asked for":                     {[]ocispec.Descriptor{a, b}, other, "other"},
		"the only one":                  {[]ocispec.Descriptor{b}, "", "other"},
		"the only one without platform": {[]ocispec.Descriptor{bare}, "windows/amd64", "bare"},
		"attestations do not count":     {[]ocispec.Descriptor{attestation, b}, "", "other"},
		"variant":                       {[]ocispec.Descriptor{v7, v8}, "linux/arm/v8", "v8"},
		"any variant":                   {[]ocispec.Descriptor{a, v7, v8}, "linux/arm", "v7"},
	} {
		for _, mediaType := range []string{ocispec.MediaTypeImageIndex, dockerList} {
			t.Run(name+"/"+mediaType, func(t *testing.T) {
				ref, index := pushIndex(t, r, "1.0.0", mediaType, tc.manifests...)
				b, err := newClient(t, nil).Pull(ctx, ref, PullOptions{Platform: tc.platform})
				require.NoError(t, err)
				require.Equal(t, tc.want, string(b.Bytes))
				require.Equal(t, index, b.ManifestDigest)
			})
		}
	}
}

func TestTheFirstOfAnIndexIsTakenWhereAsked(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	other := child(t, r, "other", "linux/"+runtime.GOARCH)
	for want, first := range map[string]ocispec.Descriptor{"main": child(t, r, "main", ""), "other": child(t, r, "windows", "windows/amd64")} {
		ref, _ := pushIndex(t, r, "1", ocispec.MediaTypeImageIndex, first, other)
		b, err := newClient(t, nil).Pull(ctx, ref, PullOptions{First: true})
		require.NoError(t, err)
		require.Equal(t, want, string(b.Bytes))
		b, err = newClient(t, nil).Pull(ctx, ref, PullOptions{})
		require.NoError(t, err)
		require.Equal(t, "other", string(b.Bytes), "the platform decides where nobody asks")
	}
}

func TestAnIndexWithinAnIndex(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	leaf := child(t, r, "leaf", "")
	at := leaf
	for depth := range maxDepth {
		raw, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{at}})
		require.NoError(t, err)
		ref, d := r.PushManifest(t, "shop", fmt.Sprint(depth), ocispec.MediaTypeImageIndex, raw)
		m, err := newClient(t, nil).Manifest(ctx, ref, Credentials{})
		if depth == maxDepth-1 {
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, "deep in each other")
			return
		}
		require.NoError(t, err)
		require.Equal(t, d, m.Digest)
		require.Equal(t, leaf.Digest, m.Own)
		at = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: d, Size: int64(len(raw))}
	}
}

func TestNoManifestForThePlatform(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, _ := pushIndex(t, r, "1", ocispec.MediaTypeImageIndex, child(t, r, "a", "linux/s390x"), child(t, r, "b", "windows/amd64"))
	_, err := newClient(t, nil).Manifest(ctx, ref, Credentials{})
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "there are linux/s390x, windows/amd64")
	ref, _ = pushIndex(t, r, "2", ocispec.MediaTypeImageIndex, child(t, r, "a", ""), child(t, r, "b", ""))
	_, err = newClient(t, nil).Manifest(ctx, ref, Credentials{})
	require.ErrorContains(t, err, "there are 2 without a platform")
}

func TestLegacyManifests(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	l := r.PushBlob(t, "shop", "x/layer", []byte("content"))
	for mediaType, manifest := range map[string]any{
		dockerManifest:                 map[string]any{"schemaVersion": 2, "mediaType": dockerManifest, "config": r.PushBlob(t, "shop", "x/config", []byte("{}")), "layers": []any{l}},
		ociArtifact:                    map[string]any{"mediaType": ociArtifact, "artifactType": "x/y", "blobs": []any{l}},
		ocispec.MediaTypeImageManifest: map[string]any{"schemaVersion": 2, "layers": []any{l}},
	} {
		t.Run(mediaType, func(t *testing.T) {
			ref, _ := r.PushManifest(t, "shop", "1.0.0", mediaType, manifest)
			b, err := newClient(t, nil).Pull(ctx, ref, PullOptions{})
			require.NoError(t, err)
			require.Equal(t, "content", string(b.Bytes))
		})
	}
}

func TestMalformedManifests(t *testing.T) {
	l := `{"mediaType":"x/y","digest":"` + string(digest.FromString("x")) + `","size":1}`
	for name, tc := range map[string]struct {
		raw  string
		kind error
		says string
	}{
		"no JSON":               {"manifest", ErrInvalid, "not JSON of an OCI manifest"},
		"empty":                 {"", ErrInvalid, "not JSON of an OCI manifest"},
		"wrong types":           {`{"layers":"none"}`, ErrInvalid, "not JSON of an OCI manifest"},
		"another type inside":   {`{"mediaType":"application/vnd.oci.image.index.v1+json"}`, ErrInvalid, "calls itself"},
		"both at once":          {`{"layers":[` + l + `],"manifests":[` + l + `]}`, ErrInvalid, "a manifest and an index at once"},
		"no layers":             {`{}`, ErrInvalid, "no layers"},
		"layers of nothing":     {`{"layers":[{}]}`, ErrInvalid, "no usable digest and size"},
		"negative size":         {`{"layers":[{"digest":"` + string(digest.FromString("x")) + `","size":-1}]}`, ErrInvalid, "no usable digest and size"},
		"a bomb of layers":      {`{"layers":[` + strings.Repeat("{},", 500_000) + `{}]}`, ErrTooLarge, "elements"},
		"a bomb of annotations": {`{"annotations":{"a":"1"` + strings.Repeat(`,"a":"1"`, 200_000) + `}}`, ErrTooLarge, "elements"},
		"deep":                  {strings.Repeat("[", 100_000), ErrInvalid, "not JSON of an OCI manifest"},
		"larger than allowed":   {strings.Repeat(" ", DefaultMaxManifest+1), ErrTooLarge, "more than the 4194304 allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.Start(t, registry.Options{})
			d := digest.FromString(tc.raw)
			r.Break(registry.Reads(func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
				w.Header().Set("Docker-Content-Digest", string(d))
				w.Header().Set("Content-Length", fmt.Sprint(len(tc.raw)))
				_, _ = w.Write([]byte(tc.raw))
				return true
			}))
			_, err := newClient(t, nil).Pull(ctx, r.Ref("shop", "1.0.0"), PullOptions{})
			require.ErrorIs(t, err, tc.kind)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, r.Host+"/shop:1.0.0")
		})
	}
}

// Some registries answer HEAD without a digest, or not at all.
func TestRegistriesWithoutHead(t *testing.T) {
	for name, fault := range map[string]registry.Fault{
		"405": registry.On("HEAD", "manifests", registry.Status(http.StatusMethodNotAllowed, 0)),
		"no digest": registry.On("HEAD", "manifests", func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
			w.Header().Set("Content-Length", "7")
			return true
		}),
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.Start(t, registry.Options{})
			ref, manifest := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
			r.Break(fault)
			b, err := newClient(t, nil).Pull(ctx, ref, PullOptions{})
			require.NoError(t, err)
			require.Equal(t, manifest, b.ManifestDigest)
		})
	}
}

// A registry makes up media types, which would be remembered for each tag.
func TestALongMediaTypeIsNoAnswer(t *testing.T) {
	for name, resolve := range map[string]func(c *Client, ref string) error{
		"tag": func(c *Client, ref string) error {
			_, err := c.Resolve(ctx, ref, Credentials{})
			return err
		},
		"manifest": func(c *Client, ref string) error {
			_, err := c.Manifest(ctx, ref, Credentials{})
			return err
		},
		"blob": func(c *Client, ref string) error {
			_, err := c.OpenBlob(ctx, strings.Replace(ref, ":1.0.0", "@"+string(digest.FromString("{}")), 1), -1, 0, Credentials{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
			r.Break(registry.Reads(func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/"+strings.Repeat("a", maxMediaType))
				w.Header().Set("Docker-Content-Digest", string(digest.FromString("{}")))
				w.Header().Set("Content-Length", "2")
				_, _ = w.Write([]byte("{}"))
				return true
			}))
			ref := r.Ref("shop", "1.0.0")
			err := resolve(c, ref)
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, "media type of more than 255 bytes")
			require.Less(t, len(err.Error()), 500)
			target, err := c.locate(ref, Credentials{}, true)
			require.NoError(t, err)
			_, known := c.lastAnswer(target)
			require.False(t, known)
		})
	}
}

func TestBlobByDigest(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, _ := r.Push(t, "component", "1.0.0", layer("x/descriptor", "descriptor"), layer("x/blob", "local blob"))
	m, err := newClient(t, nil).Manifest(ctx, ref, Credentials{})
	require.NoError(t, err)
	b, err := m.Blob(ctx, digest.FromString("local blob"), 0)
	require.NoError(t, err)
	require.Equal(t, "local blob", string(b))
	b, err = m.Blob(ctx, m.Config.Digest, 0)
	require.NoError(t, err)
	require.Equal(t, "{}", string(b))
	_, err = m.Blob(ctx, digest.FromString("other"), 0)
	require.ErrorIs(t, err, ErrNotFound)
}

func TestOpenBlob(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{somebody}})
	c, login := newClient(t, nil), credentials(t, map[string]string{r.Host: "somebody:right"})
	d := r.PushBlob(t, "shop", "", []byte("content"))
	ref := r.Host + "/shop@" + string(d.Digest)
	for _, size := range []int64{-1, 7} {
		opened, err := c.OpenBlob(ctx, ref, size, 0, login)
		require.NoError(t, err)
		require.EqualValues(t, 7, opened.Size())
		require.Equal(t, d.Digest, opened.Digest)
		require.NoError(t, opened.Close())
	}
	require.Equal(t, 1, r.Count("GET", "blobs"))
	for name, tc := range map[string]struct {
		ref         string
		size, most  int64
		credentials Credentials
		kind        error
	}{
		"nobody":     {ref, -1, 0, Credentials{}, ErrUnauthorized},
		"other size": {ref, 6, 0, login, ErrDigest},
		"too large":  {ref, -1, 6, login, ErrTooLarge},
		"absent":     {r.Host + "/shop@" + string(digest.FromString("other")), -1, 0, login, ErrNotFound},
		"a tag":      {r.Ref("shop", "1"), -1, 0, login, ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.OpenBlob(ctx, tc.ref, tc.size, tc.most, tc.credentials)
			require.ErrorIs(t, err, tc.kind)
		})
	}
}

// FuzzManifest feeds any bytes to the parser as a manifest or index: it must not panic, and what it accepts must not need
// much more memory than its bytes.
func FuzzManifest(f *testing.F) {
	d := `{"mediaType":"x/y","digest":"` + string(digest.FromString("x")) + `","size":1,"platform":{"os":"linux","architecture":"arm64","variant":"v8"}}`
	for _, seed := range []string{"", "{}", `{"layers":[` + d + `]}`, `{"manifests":[` + d + "," + d + `]}`, `{"blobs":[{}],"config":` + d + `}`, `{"annotations":{"\\",":","}}`} {
		f.Add([]byte(seed), ocispec.MediaTypeImageManifest, "linux/arm64")
		f.Add([]byte(seed), ocispec.MediaTypeImageIndex, "")
	}
	f.Fuzz(func(t *testing.T, raw []byte, mediaType, platform string) {
		d, err := parseManifest("ref", mediaType, raw)
		if err != nil {
			var typed *fault.Error
			require.ErrorAs(t, err, &typed)
			return
		}
		require.Equal(t, mediaType, d.MediaType)
		require.LessOrEqual(t, len(d.Layers)+len(d.Manifests), 2*(bytes.Count(raw, []byte(","))+1))
		if chosen, err := choose("ref", d.Manifests, platform); err == nil {
			require.Contains(t, d.Manifests, chosen)
		}
		m := &Manifest{Manifest: d.Manifest}
		if l, err := m.Layer(); err == nil {
			_ = target{}.acceptable(l, 1, layerPart)
		}
	})
}
