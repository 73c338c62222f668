// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// refer pushes a manifest that refers to another one.
func refer(t *testing.T, r *registry.Registry, repository string, to ocispec.Descriptor, content string) ocispec.Descriptor {
	t.Helper()
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "application/spdx+json", Subject: &to,
		Config: r.PushBlob(t, repository, ocispec.MediaTypeEmptyJSON, []byte("{}")),
		Layers: []ocispec.Descriptor{r.PushBlob(t, repository, "application/spdx+json", []byte(content))},
	}
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	d := ocispec.Descriptor{MediaType: m.MediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	r.PushManifest(t, repository, d.Digest.String(), m.MediaType, raw)
	return d
}

func TestALayoutCarriesArtifactsWithAllThatBelongsToThem(t *testing.T) {
	from := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Token: true})
	to := registry.Start(t, registry.Options{Users: []registry.User{{Name: "b", Password: "2"}}})
	there, here := credentials(t, map[string]string{from.Host: "somebody:right"}), credentials(t, map[string]string{to.Host: "b:2"})
	amd := child(t, from, "amd", "linux/amd64")
	index, all := pushIndex(t, from, "2.0.0", ocispec.MediaTypeImageIndex, amd, child(t, from, "arm", "linux/arm64"))
	home, err := ParseReference(index)
	require.NoError(t, err)
	materials := refer(t, from, home.Path, amd, "materials")
	second := refer(t, from, home.Path, materials, "signed")
	tag := strings.Replace(all.String(), ":", "-", 1) + ".sig"
	_, signature := from.Push(t, home.Path, tag, layer("application/vnd.dev.cosign.simplesigning.v1+json", "signature"))
	chart, chartDigest := from.Push(t, "charts/web", "1.0.0", layer("x/y", "chart"))
	byDigest := from.Host + "/charts/web@" + chartDigest.String()

	dir := filepath.Join(t.TempDir(), "mirror")
	layout, err := OpenLayout(dir)
	require.NoError(t, err)
	c := newClient(t, nil)
	saved, err := c.Save(ctx, index, layout, there)
	require.NoError(t, err)
	assert.Equal(t, []Saved{{index, all}, {from.Host + "/" + home.Path + ":" + tag, signature}}, saved)
	_, err = c.Save(ctx, "oci://"+chart, layout, there)
	require.NoError(t, err)
	saved, err = c.Save(ctx, byDigest, layout, there)
	require.NoError(t, err)
	assert.Equal(t, []Saved{{byDigest, chartDigest}}, saved)

	layout, err = OpenLayout(dir) // as on the other side
	require.NoError(t, err)
	names, err := layout.Names(ctx)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{index, from.Host + "/" + home.Path + ":" + tag, chart, byDigest}, names)
	for _, name := range names {
		pushed, err := c.Load(ctx, layout, name, to.Host+"/mirror", here)
		require.NoError(t, err)
		assert.Contains(t, pushed, to.Host+"/mirror/")
	}
	other := newClient(t, nil)
	b, err := other.Pull(ctx, to.Ref("mirror/"+home.Path, "2.0.0"), PullOptions{Credentials: here, Platform: "linux/arm64"})
	require.NoError(t, err)
	assert.Equal(t, "arm", string(b.Bytes))
	assert.Equal(t, all, b.ManifestDigest)
	for name, d := range map[string]digest.Digest{"bill of materials": materials.Digest, "what refers to that": second.Digest, "signature": signature} {
		found, err := other.Resolve(ctx, to.Host+"/mirror/"+home.Path+"@"+d.String(), here)
		require.NoError(t, err, name)
		assert.Equal(t, d, found.Digest, name)
	}
	signed, err := other.Resolve(ctx, to.Ref("mirror/"+home.Path, tag), here)
	require.NoError(t, err)
	assert.Equal(t, signature, signed.Digest)

	t.Run("again nothing is sent", func(t *testing.T) {
		from.Forget()
		to.Forget()
		_, err := c.Save(ctx, index, layout, there)
		require.NoError(t, err)
		assert.Zero(t, from.Count("GET", "blobs"))
		for _, name := range names {
			_, err := c.Load(ctx, layout, name, to.Host+"/mirror", here)
			require.NoError(t, err)
		}
		assert.Zero(t, to.Count("PUT", "uploads"))
	})
	t.Run("content that was changed on the way is refused", func(t *testing.T) {
		blob := filepath.Join(dir, "blobs", "sha256", digest.FromString("chart").Encoded())
		require.NoError(t, os.Chmod(blob, 0o644))
		require.NoError(t, os.WriteFile(blob, []byte("worse"), 0o644))
		elsewhere := registry.Start(t, registry.Options{})
		_, err := c.Load(ctx, layout, chart, elsewhere.Host, Credentials{})
		require.Error(t, err)
		_, err = other.Resolve(ctx, elsewhere.Ref("charts/web", "1.0.0"), Credentials{})
		require.ErrorIs(t, err, ErrNotFound)
	})
}

func TestSavingFailsWithTheSideThatFailed(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{somebody}})
	ref, _ := r.Push(t, "shop", "1.0.0", layer("x/y", "content"))
	layout, err := OpenLayout(t.TempDir())
	require.NoError(t, err)
	c := newClient(t, nil)
	_, err = c.Save(ctx, ref, layout, Credentials{})
	require.ErrorIs(t, err, ErrUnauthorized)
	_, err = c.Save(ctx, r.Host+"/shop", layout, Credentials{})
	require.ErrorIs(t, err, ErrInvalid)
	login := credentials(t, map[string]string{r.Host: "somebody:right"})
	_, err = c.Save(ctx, r.Ref("shop", "2.0.0"), layout, login)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = c.Load(ctx, layout, "example.com/other:1", r.Host, login)
	require.ErrorContains(t, err, `has no artifact "example.com/other:1"`)
	_, err = c.Save(ctx, ref, layout, login)
	require.NoError(t, err)
	_, err = c.Load(ctx, layout, ref, r.Host+"/mirror", Credentials{})
	require.ErrorIs(t, err, ErrUnauthorized)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = OpenLayout(file)
	require.ErrorContains(t, err, "is not an OCI image layout")
}
