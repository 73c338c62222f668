// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func shop() Artifact {
	config := BytesSource("x/config", []byte("{}"))
	return Artifact{ArtifactType: "x/type", Config: &config,
		Layers:      []Source{{MediaType: FluxContentLayer, Content: bytes.NewReader([]byte("content")), Size: 7, Annotations: map[string]string{"title": "shop"}}},
		Annotations: map[string]string{"b": "2", "a": "1", "c": "3"}}
}

func TestPushArtifact(t *testing.T) {
	for door, o := range map[string]registry.Options{
		"open":  {},
		"basic": {Users: []registry.User{somebody}},
		"token": {Users: []registry.User{somebody}, Token: true},
	} {
		t.Run(door, func(t *testing.T) {
			r, c := registry.Start(t, o), newClient(t, nil)
			login := credentials(t, map[string]string{r.Host: "somebody:right"})
			d, err := c.PushArtifact(ctx, "oci://"+r.Ref("team/shop", "1.0.0"), shop(), login)
			require.NoError(t, err)
			m, err := c.Manifest(ctx, r.Ref("team/shop", "1.0.0"), login)
			require.NoError(t, err)
			require.Equal(t, d, m.Digest)
			require.Equal(t, "x/type", m.ArtifactType)
			require.Equal(t, "x/config", m.Config.MediaType)
			require.Equal(t, map[string]string{"b": "2", "a": "1", "c": "3"}, m.Annotations)
			require.Equal(t, map[string]string{"title": "shop"}, m.Layers[0].Annotations)
			b, err := m.Blob(ctx, m.Layers[0].Digest, 0)
			require.NoError(t, err)
			require.Equal(t, "content", string(b))
		})
	}
}

func TestDigestsAreReproducible(t *testing.T) {
	const want = "sha256:cf8865b47d9c174fbc3f1cf1db1084531a78d298390e29a7f6cf43fdcb3d785c"
	r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
	for range 3 {
		d, err := c.PushArtifact(ctx, r.Ref("shop", "1.0.0"), shop(), Credentials{})
		require.NoError(t, err)
		require.Equal(t, digest.Digest(want), d)
	}
	require.Equal(t, 2, r.Count("PUT", "uploads"), "what is there is not sent again")
}

func TestPushWithoutATag(t *testing.T) {
	r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
	d, err := c.PushArtifact(ctx, r.Host+"/shop", Artifact{ArtifactType: "x/y"}, Credentials{})
	require.NoError(t, err)
	there, err := c.Exists(ctx, r.Host+"/shop@"+string(d), Credentials{})
	require.NoError(t, err)
	require.True(t, there)
}

func TestExists(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Public: []string{"shop"}})
	r.Push(t, "shop", "1.0.0", layer("x/y", ""))
	c := newClient(t, nil)
	for ref, want := range map[string]bool{r.Ref("shop", "1.0.0"): true, r.Ref("shop", "2.0.0"): false} {
		there, err := c.Exists(ctx, ref, Credentials{})
		require.NoError(t, err)
		require.Equal(t, want, there)
	}
	_, err := c.Exists(ctx, r.Ref("private", "1.0.0"), Credentials{})
	require.ErrorIs(t, err, ErrUnauthorized)
	r.Down()
	_, err = c.Exists(ctx, r.Ref("shop", "1.0.0"), Credentials{})
	require.ErrorContains(t, err, "connection refused")
}

func TestPushAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content")
	require.NoError(t, os.WriteFile(path, []byte("content of a file"), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
	d, err := c.PushBlob(ctx, r.Host+"/shop", Source{MediaType: "x/y", Content: file, Size: 17}, Credentials{})
	require.NoError(t, err)
	require.Equal(t, ocispec.Descriptor{MediaType: "x/y", Digest: digest.FromString("content of a file"), Size: 17}, d)
	content, err := c.OpenBlob(ctx, r.Host+"/shop@"+string(d.Digest), 17, 0, Credentials{})
	require.NoError(t, err)
	read, err := io.ReadAll(content)
	require.NoError(t, err)
	require.Equal(t, "content of a file", string(read))
	require.NoError(t, content.Close())
}

func TestPushRefuses(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Public: []string{"public"}})
	c := newClient(t, nil)
	login := credentials(t, map[string]string{r.Host: "somebody:right"})
	_, err := c.PushArtifact(ctx, r.Ref("public", "1"), shop(), Credentials{})
	require.ErrorIs(t, err, ErrUnauthorized, "reading is not writing")
	_, err = c.PushBlob(ctx, r.Ref("shop", "1"), Source{MediaType: "x/y", Content: bytes.NewReader(nil), Size: 1}, login)
	require.ErrorContains(t, err, "0 of 1 bytes")
	_, err = c.PushBlob(ctx, r.Ref("shop", "1"), Source{}, login)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = c.PushManifest(ctx, r.Host+"/shop@"+string(digest.FromString("other")), ocispec.MediaTypeImageManifest, []byte("{}"), login)
	require.ErrorIs(t, err, ErrDigest)
	_, err = c.PushManifest(ctx, r.Ref("shop", "1"), ocispec.MediaTypeImageManifest, make([]byte, DefaultMaxManifest+1), login)
	require.ErrorIs(t, err, ErrTooLarge)
	require.NotContains(t, err.Error(), "right")
}

func TestCopy(t *testing.T) {
	from := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Token: true})
	to := registry.Start(t, registry.Options{Users: []registry.User{{Name: "b", Password: "2"}}})
	o := CopyOptions{From: credentials(t, map[string]string{from.Host: "somebody:right"}), To: credentials(t, map[string]string{to.Host: "b:2"})}
	single, d := from.Push(t, "shop", "1.0.0", layer("x/y", "content"))
	index, all := pushIndex(t, from, "2.0.0", ocispec.MediaTypeImageIndex, child(t, from, "amd", "linux/amd64"), child(t, from, "arm", "linux/arm64"))
	c := newClient(t, nil)
	for name, tc := range map[string]struct {
		ref      string
		want     digest.Digest
		platform string
		content  string
	}{
		"artifact": {single, d, "", "content"},
		"index":    {index, all, "linux/arm64", "arm"},
	} {
		t.Run(name, func(t *testing.T) {
			copied, err := c.Copy(ctx, tc.ref, to.Ref("team/copy", name), o)
			require.NoError(t, err)
			require.Equal(t, tc.want, copied)
			b, err := newClient(t, nil).Pull(ctx, to.Ref("team/copy", name), PullOptions{Credentials: o.To, Platform: tc.platform})
			require.NoError(t, err)
			require.Equal(t, tc.content, string(b.Bytes))
			require.Equal(t, tc.want, b.ManifestDigest)
		})
	}
	to.Forget()
	_, err := c.Copy(ctx, index, to.Ref("team/copy", "again"), o)
	require.NoError(t, err)
	require.Zero(t, to.Count("PUT", "uploads"), "what is there is not sent again")
}

func TestCopyWithinARegistry(t *testing.T) {
	r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
	ref, d := r.Push(t, "shop", "1.0.0", layer("x/y", "content"))
	copied, err := c.Copy(ctx, ref, r.Ref("copy", "1.0.0"), CopyOptions{})
	require.NoError(t, err)
	require.Equal(t, d, copied)
	b, err := newClient(t, nil).Pull(ctx, r.Ref("copy", "1.0.0"), PullOptions{})
	require.NoError(t, err)
	require.Equal(t, "content", string(b.Bytes))
}

func TestCopyNamesTheSideThatFailed(t *testing.T) {
	from, to := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	ref, _ := from.Push(t, "shop", "1.0.0", layer("x/y", "content"))
	c := newClient(t, nil)
	_, err := c.Copy(ctx, from.Ref("shop", "2.0.0"), to.Ref("copy", "1"), CopyOptions{})
	require.ErrorContains(t, err, from.Host)
	require.ErrorIs(t, err, ErrNotFound)
	to.Break(registry.Status(http.StatusForbidden, 0))
	_, err = c.Copy(ctx, ref, to.Ref("copy", "1"), CopyOptions{})
	require.ErrorContains(t, err, to.Host)
	require.ErrorIs(t, err, ErrUnauthorized)
}
