// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestParseReference(t *testing.T) {
	d := digest.FromString("x")
	for ref, want := range map[string]Reference{
		"h/a/b":                               {Host: "h", Path: "a/b"},
		"oci://h:1/a:2":                       {Host: "h:1", Path: "a", Tag: "2"},
		"http://h:1/a@" + d.String():          {Scheme: "http", Host: "h:1", Path: "a", Digest: d},
		"https://h/a/b:1.0_x@" + d.String():   {Scheme: "https", Host: "h", Path: "a/b", Tag: "1.0_x", Digest: d},
		"127.0.0.1:5000/a:v1@" + d.String():   {Host: "127.0.0.1:5000", Path: "a", Tag: "v1", Digest: d},
		"docker.io/library/nginx:1.27-alpine": {Host: "docker.io", Path: "library/nginx", Tag: "1.27-alpine"},
	} {
		got, err := ParseReference(ref)
		require.NoError(t, err)
		require.Equal(t, want, got, ref)
	}
	for _, ref := range []string{"", "h", "h/A", "h/a:b:c", "h/a:-x", "h/a@sha256:1", "h/a:b c@" + d.String(), "h/a:%@" + d.String()} {
		_, err := ParseReference(ref)
		require.ErrorIs(t, err, ErrInvalid, ref)
	}
}

func FuzzParseReference(f *testing.F) {
	f.Add("oci://h:1/a/b:2@" + digest.FromString("x").String())
	f.Add("http://h/a")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseReference(text)
		if err != nil {
			return
		}
		whole := r.Repository()
		if r.Tag != "" {
			whole += ":" + r.Tag
		}
		if r.Digest != "" {
			whole += "@" + r.Digest.String()
		}
		again, err := ParseReference(whole)
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}

// large pushes an image for several platforms, with more layers than an artifact may have manifests.
func large(t *testing.T, r *registry.Registry) (string, digest.Digest) {
	t.Helper()
	all := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for i := range 3 {
		var layers []registry.Layer
		for j := range maxManifests / 2 {
			layers = append(layers, layer("x/y", fmt.Sprint(i, " ", j)))
		}
		ref, d := r.Push(t, "shop", fmt.Sprint(i), layers...)
		m, err := newClient(t, nil).Manifest(ctx, ref, Credentials{})
		require.NoError(t, err)
		all.Manifests = append(all.Manifests, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: d, Size: int64(len(m.Raw))})
	}
	return r.PushManifest(t, "shop", "1.0.0", all.MediaType, all)
}

func TestWalk(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, d := large(t, r)
	seen := map[digest.Digest]int{}
	var last Part
	found, err := newClient(t, nil).Walk(ctx, ref, Credentials{}, func(p Part) error {
		seen[p.Digest]++
		require.Equal(t, p.Digest == d, p.Top)
		last = p
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, d, found.Digest)
	require.True(t, last.Top)
	require.Len(t, seen, 1+3+1+3*(maxManifests/2), "an index, manifests, a config for all and layers")
	for _, times := range seen {
		require.Equal(t, 1, times)
	}
	require.Zero(t, r.Count("GET", "blobs"), "nobody opened one")
}

func TestWalkEnds(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, _ := r.Push(t, "shop", "1.0.0", layer("x/y", "content"))
	enough := errors.New("enough")
	_, err := newClient(t, nil).Walk(ctx, ref, Credentials{}, func(Part) error { return enough })
	require.ErrorIs(t, err, enough)
	_, err = newClient(t, nil).Walk(ctx, r.Ref("shop", "2.0.0"), Credentials{}, func(Part) error { return nil })
	require.ErrorIs(t, err, ErrNotFound)
}

func TestWalkLeavesOutForeignLayers(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	foreign := ocispec.Descriptor{MediaType: "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", Digest: digest.FromString("windows"), Size: 7, URLs: []string{"https://h/x"}}
	ref, d := r.PushManifest(t, "shop", "1", ocispec.MediaTypeImageManifest, ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: r.PushBlob(t, "shop", "x/config", []byte("{}")), Layers: []ocispec.Descriptor{foreign}})
	copied, err := newClient(t, nil).Copy(ctx, ref, r.Ref("copy", "1"), CopyOptions{})
	require.NoError(t, err)
	require.Equal(t, d, copied)
}

func TestCopyOfManyLayersSendsNothingTwice(t *testing.T) {
	from, to := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	ref, d := large(t, from)
	for range 2 {
		to.Forget()
		copied, err := newClient(t, nil).Copy(ctx, ref, to.Ref("copy", "1"), CopyOptions{})
		require.NoError(t, err)
		require.Equal(t, d, copied)
	}
	require.Zero(t, to.Count(http.MethodPut, "manifests")+to.Count(http.MethodPut, "uploads"))
}

func TestTopDoesNotChoose(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, d := large(t, r)
	top, err := newClient(t, nil).Top(ctx, ref, Credentials{})
	require.NoError(t, err)
	require.True(t, top.Index)
	require.Equal(t, d, top.Digest)
	require.Equal(t, d, digest.FromBytes(top.Raw))
	require.Len(t, top.Manifests, 3)
	top, err = newClient(t, nil).Top(ctx, r.Ref("shop", "0"), Credentials{})
	require.NoError(t, err)
	require.False(t, top.Index)
	_, err = newClient(t, nil).Top(ctx, r.Host+"/shop", Credentials{})
	require.ErrorContains(t, err, "append :tag")
}
