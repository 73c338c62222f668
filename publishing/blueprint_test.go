// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

const document = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"

func start(t *testing.T) (*registry.Registry, Registry) {
	t.Helper()
	server := registry.Start(t, registry.Options{})
	client, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return server, Registry{Client: client}
}

func packedDirectory(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(files[i+1]), 0o600))
	}
	return dir
}

func push(t *testing.T, r Registry, url string, o BlueprintOptions) *PushedBlueprint {
	t.Helper()
	pushed, err := PushBlueprint(context.Background(), r, url, o)
	require.NoError(t, err)
	return pushed
}

func read(t *testing.T, files fs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		out[name] = string(content)
		return err
	}))
	return out
}

func TestPushAndPull(t *testing.T) {
	for _, format := range []Format{Flux, Landscaper} {
		t.Run(string(format), func(t *testing.T) {
			server, r := start(t)
			url := "oci://" + server.Ref("blueprints/shop", "1.0.0")
			pushed := push(t, r, url, BlueprintOptions{Dir: packedDirectory(t, "blueprint.yaml", document, "lib/a.tpl", "x"), Format: format})
			pulled, err := PullBlueprint(context.Background(), r, url)
			require.NoError(t, err)
			defer func() { require.NoError(t, pulled.Close()) }()
			assert.Equal(t, pushed.Digest, pulled.Digest.String())
			assert.Equal(t, pushed.URL, pulled.URL)
			assert.Equal(t, map[string]string{"blueprint.yaml": document, "lib/a.tpl": "x"}, read(t, pulled.FS()))
		})
	}
}

func TestManifestForFlux(t *testing.T) {
	server, r := start(t)
	url := "oci://" + server.Ref("shop", "1.0.0")
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	pushed := push(t, r, url, BlueprintOptions{
		Dir: packedDirectory(t, "blueprint.yaml", document), Source: "https://git.example.com/shop", Revision: "main@sha1:abc", Created: created,
		Annotations: map[string]string{"team": "shop"},
	})
	manifest, err := r.Client.Manifest(context.Background(), url, r.Credentials)
	require.NoError(t, err)
	assert.Equal(t, "application/vnd.cncf.flux.config.v1+json", manifest.Config.MediaType)
	require.Len(t, manifest.Layers, 1)
	assert.Equal(t, "application/vnd.cncf.flux.content.v1.tar+gzip", manifest.Layers[0].MediaType)
	assert.Equal(t, map[string]string{
		ocispec.AnnotationSource: "https://git.example.com/shop", ocispec.AnnotationRevision: "main@sha1:abc",
		ocispec.AnnotationCreated: "2026-01-02T02:04:05Z", "team": "shop",
	}, manifest.Annotations)
	assert.Equal(t, &PushedBlueprint{
		URL: "oci://" + server.Host + "/shop@" + manifest.Digest.String(), Repository: server.Host + "/shop", Tag: "1.0.0",
		Digest: manifest.Digest.String(), Files: 1,
	}, pushed)
}

func TestManifestForLandscaper(t *testing.T) {
	server, r := start(t)
	url := "oci://" + server.Ref("shop", "1.0.0")
	push(t, r, url, BlueprintOptions{Dir: packedDirectory(t, "blueprint.yaml", document), Format: Landscaper})
	manifest, err := r.Client.Manifest(context.Background(), url, r.Credentials)
	require.NoError(t, err)
	assert.Equal(t, "application/vnd.gardener.landscaper.blueprint.config.v1+json", manifest.Config.MediaType)
	assert.Equal(t, "application/vnd.gardener.landscaper.blueprint.layer.v1.tar+gzip", manifest.Layers[0].MediaType)
	config, err := manifest.Blob(context.Background(), manifest.Config.Digest, 0)
	require.NoError(t, err)
	assert.JSONEq(t, `{"apiVersion":"landscaper.gardener.cloud/v1alpha1","kind":"Blueprint"}`, string(config))
}

func TestSameDirectoryGivesTheSameDigest(t *testing.T) {
	server, r := start(t)
	first := push(t, r, "oci://"+server.Ref("a", "1"), BlueprintOptions{Dir: packedDirectory(t, "blueprint.yaml", document, "x", "y"), Source: "s", Revision: "r"})
	second := push(t, r, "oci://"+server.Ref("b", "2"), BlueprintOptions{Dir: packedDirectory(t, "x", "y", "blueprint.yaml", document), Source: "s", Revision: "r"})
	assert.Equal(t, first.Digest, second.Digest)
}

func TestNothingIsPushed(t *testing.T) {
	outside := packedDirectory(t, "secret", "x")
	linked := packedDirectory(t, "blueprint.yaml", document)
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(linked, "link")))
	good := packedDirectory(t, "blueprint.yaml", document)
	for name, test := range map[string]struct {
		url     string
		options BlueprintOptions
		want    string
	}{
		"link out of the directory": {"oci://HOST/shop:1", BlueprintOptions{Dir: linked}, "file link cannot be read"},
		"no scheme":                 {"HOST/shop:1", BlueprintOptions{Dir: good}, "does not begin with oci://"},
		"no tag":                    {"oci://HOST/shop", BlueprintOptions{Dir: good}, "has no tag"},
		"digest":                    {"oci://HOST/shop@sha256:abc", BlueprintOptions{Dir: good}, "has no tag"},
		"unknown format":            {"oci://HOST/shop:1", BlueprintOptions{Dir: good, Format: "zip"}, "media type \"zip\" is unknown"},
		"no document":               {"oci://HOST/shop:1", BlueprintOptions{Dir: outside, Format: Landscaper}, "blueprint.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			server, r := start(t)
			_, err := PushBlueprint(context.Background(), r, string(bytes.ReplaceAll([]byte(test.url), []byte("HOST"), []byte(server.Host))), test.options)
			assert.ErrorContains(t, err, test.want)
			assert.Empty(t, server.Requests())
		})
	}
}

func TestTagAppearsLast(t *testing.T) {
	server, r := start(t)
	server.Break(registry.On("PUT", "manifests", registry.Status(403, 0)))
	url := "oci://" + server.Ref("shop", "1")
	_, err := PushBlueprint(context.Background(), r, url, BlueprintOptions{Dir: packedDirectory(t, "blueprint.yaml", document)})
	require.Error(t, err)
	server.Break()
	there, err := r.Client.Exists(context.Background(), url, r.Credentials)
	require.NoError(t, err)
	assert.False(t, there)
}

// archive makes a tar with one entry.
func archive(t *testing.T, header tar.Header, content string) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	header.Size = int64(len(content))
	require.NoError(t, w.WriteHeader(&header))
	_, err := io.WriteString(w, content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.String()
}

func TestPullRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		layer registry.Layer
		want  string
	}{
		"path out of the archive": {registry.Layer{MediaType: oci.FluxContentLayer, Content: archive(t, tar.Header{Name: "../evil", Mode: 0o644}, "x")}, "leaves its directory"},
		"symbolic link":           {registry.Layer{MediaType: oci.FluxContentLayer, Content: archive(t, tar.Header{Name: "link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}, "")}, "symbolic link"},
		"no archive":              {registry.Layer{MediaType: oci.FluxContentLayer, Content: "no tar"}, "tar"},
		"other artifact":          {registry.Layer{MediaType: "text/plain", Content: "x"}, "is not a blueprint"},
	} {
		t.Run(name, func(t *testing.T) {
			server, r := start(t)
			ref, _ := server.Push(t, "shop", "1", test.layer)
			_, err := PullBlueprint(context.Background(), r, "oci://"+ref)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestPullOfOtherFormats(t *testing.T) {
	content := archive(t, tar.Header{Name: "blueprint.yaml", Mode: 0o644}, document)
	for _, mediaType := range []string{
		"application/vnd.gardener.landscaper.blueprint.v1+tar", "application/vnd.gardener.landscaper.blueprint.v1+tar+gzip",
		"application/vnd.gardener.landscaper.blueprint.layer.v1.tar", "application/x-tar", "application/vnd.docker.image.rootfs.diff.tar.gzip",
	} {
		t.Run(mediaType, func(t *testing.T) {
			server, r := start(t)
			ref, _ := server.Push(t, "shop", "1", registry.Layer{MediaType: mediaType, Content: content})
			pulled, err := PullBlueprint(context.Background(), r, "oci://"+ref)
			require.NoError(t, err)
			defer func() { require.NoError(t, pulled.Close()) }()
			assert.Equal(t, map[string]string{"blueprint.yaml": document}, read(t, pulled.FS()))
		})
	}
}

func TestWrite(t *testing.T) {
	files := os.DirFS(packedDirectory(t, "blueprint.yaml", document, "lib/a", "x"))
	t.Run("new directory", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "below", "new")
		count, err := WriteBlueprint(files, dir, false)
		require.NoError(t, err)
		assert.Equal(t, 2, count)
		assert.Equal(t, read(t, files), read(t, os.DirFS(dir)))
	})
	t.Run("directory with files", func(t *testing.T) {
		dir := packedDirectory(t, "mine", "kept", "lib/a", "old")
		_, err := WriteBlueprint(files, dir, false)
		assert.ErrorContains(t, err, "is not empty")
		assert.Equal(t, map[string]string{"mine": "kept", "lib/a": "old"}, read(t, os.DirFS(dir)))
		_, err = WriteBlueprint(files, dir, true)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"mine": "kept", "lib/a": "x", "blueprint.yaml": document}, read(t, os.DirFS(dir)))
	})
	t.Run("link in the directory", func(t *testing.T) {
		outside, dir := t.TempDir(), packedDirectory(t, "mine", "kept")
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, "lib")))
		_, err := WriteBlueprint(files, dir, true)
		assert.Error(t, err)
		assert.NoFileExists(t, filepath.Join(outside, "a"))
	})
}

func TestDiff(t *testing.T) {
	server, r := start(t)
	url := "oci://" + server.Ref("shop", "1")
	push(t, r, url, BlueprintOptions{Dir: packedDirectory(t, "blueprint.yaml", document, "gone", "1\n", "bytes", "\x00a")})
	changes, err := DiffBlueprint(context.Background(), r, url, packedDirectory(t, "blueprint.yaml", document+"exports: []", "new", "2\n", "bytes", "\x00b"), PackOptions{})
	require.NoError(t, err)
	require.Len(t, changes, 4)
	assert.Equal(t, Change{"blueprint.yaml", Changed, changes[0].Text}, changes[0])
	assert.Contains(t, changes[0].Text, "+exports: []\n\\ No newline at end of file\n")
	assert.Contains(t, changes[0].Text, "--- "+url+"/blueprint.yaml\n+++ ")
	assert.Contains(t, changes[1].Text, "binary files ")
	assert.Equal(t, []string{"gone", Removed}, []string{changes[2].Path, changes[2].Kind})
	assert.Contains(t, changes[2].Text, "\n-1\n")
	assert.Equal(t, []string{"new", Added}, []string{changes[3].Path, changes[3].Kind})
	_, err = json.Marshal(changes)
	assert.NoError(t, err)
}

func TestNoDiff(t *testing.T) {
	server, r := start(t)
	url := "oci://" + server.Ref("shop", "1")
	dir := packedDirectory(t, "blueprint.yaml", document, ".gitignore", "ignored")
	push(t, r, url, BlueprintOptions{Dir: dir, Pack: PackOptions{Defaults: true}})
	changes, err := DiffBlueprint(context.Background(), r, url, dir, PackOptions{Defaults: true})
	require.NoError(t, err)
	assert.Empty(t, changes)
}
