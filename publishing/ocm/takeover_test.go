// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func reach(t *testing.T, servers ...*registry.Registry) publishing.Registry {
	t.Helper()
	c, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	auths := map[string]any{}
	for _, server := range servers {
		auths[server.Host] = map[string]string{"username": "me", "password": "secret of " + server.Host}
	}
	config, err := json.Marshal(map[string]any{"auths": auths})
	require.NoError(t, err)
	logins, err := oci.ParseDockerConfig(config)
	require.NoError(t, err)
	return publishing.Registry{Client: c, Credentials: logins, DockerConfig: config}
}

// push stores an image for each platform, with a config that names it, and an index of them.
func push(t *testing.T, server *registry.Registry, tag string, architectures ...string) (string, digest.Digest) {
	t.Helper()
	all := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, architecture := range architectures {
		m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
			Config: server.PushBlob(t, "shop", ocispec.MediaTypeImageConfig, []byte(fmt.Sprintf(`{"os":"linux","architecture":%q}`, architecture))),
			Layers: []ocispec.Descriptor{
				server.PushBlob(t, "shop", ocispec.MediaTypeImageLayerGzip, []byte("common")),
				server.PushBlob(t, "shop", ocispec.MediaTypeImageLayerGzip, []byte(architecture+tag)),
			}}
		raw, err := json.Marshal(m)
		require.NoError(t, err)
		_, d := server.PushManifest(t, "shop", architecture, m.MediaType, raw)
		all.Manifests = append(all.Manifests, ocispec.Descriptor{MediaType: m.MediaType, Digest: d, Size: int64(len(raw)),
			Platform: &ocispec.Platform{OS: "linux", Architecture: architecture}})
	}
	return server.PushManifest(t, "shop", tag, all.MediaType, all)
}

// whole lists what an artifact consists of, read completely.
func whole(t *testing.T, r publishing.Registry, ref string) []digest.Digest {
	t.Helper()
	var found []digest.Digest
	_, err := r.Client.Walk(context.Background(), ref, r.Credentials, func(p oci.Part) error {
		found = append(found, p.Digest)
		if p.Raw != nil {
			return nil
		}
		content, err := p.Open(context.Background())
		if err == nil {
			err = content.Close()
		}
		return err
	})
	require.NoError(t, err)
	return found
}

func locked(t *testing.T) *registry.Registry {
	t.Helper()
	users := []registry.User{{Name: "me"}}
	server := registry.Start(t, registry.Options{Users: users})
	users[0].Password = "secret of " + server.Host // each has its own, so that a login sent to the other one is found out
	return server
}

func find(t *testing.T, r publishing.Registry, ref string, platforms ...string) *Artifact {
	t.Helper()
	a, err := findArtifact(context.Background(), r, ref, platforms)
	require.NoError(t, err)
	a.Repository, a.Tag = "mine/shop", "1.0.0"
	return a
}

func TestCopyBetweenRegistriesWithLogins(t *testing.T) {
	from, to := locked(t), locked(t)
	ref, d := push(t, from, "1", "amd64", "arm64", "s390x")
	r := reach(t, from, to)
	a := find(t, r, ref)
	unchanged, err := a.CopyTo(context.Background(), r, to.Host+"/base", false)
	require.NoError(t, err)
	assert.False(t, unchanged)
	assert.Equal(t, d, a.Digest)
	expected := whole(t, r, ref)
	from.Down()
	copied := whole(t, reach(t, to), to.Ref("base/mine/shop", "1.0.0"))
	assert.Equal(t, expected, copied)
	assert.Len(t, copied, 1+3*3+1, "an index, three manifests with config and layer, and a layer that they share")
}

func TestCopyAgainSendsNothing(t *testing.T) {
	from, to := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	ref, _ := push(t, from, "1", "amd64", "arm64")
	r := reach(t)
	for _, platforms := range [][]string{nil, {"linux/arm64"}} {
		a := find(t, r, ref, platforms...)
		a.Repository += fmt.Sprint(len(platforms))
		_, err := a.CopyTo(context.Background(), r, to.Host, false)
		require.NoError(t, err)
		to.Forget()
		fresh := reach(t)
		again := find(t, fresh, ref, platforms...)
		again.Repository = a.Repository
		unchanged, err := again.CopyTo(context.Background(), fresh, to.Host, false)
		require.NoError(t, err)
		assert.True(t, unchanged)
		assert.Equal(t, a.Digest, again.Digest)
		assert.Zero(t, to.Count(http.MethodPut, "manifests")+to.Count(http.MethodPost, "uploads")+to.Count(http.MethodPut, "uploads"))
	}
}

func TestCopyReplacesOnlyWhenAsked(t *testing.T) {
	from, to := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	r := reach(t)
	first, _ := push(t, from, "1", "amd64")
	second, d := push(t, from, "2", "amd64")
	_, err := find(t, r, first).CopyTo(context.Background(), r, to.Host, false)
	require.NoError(t, err)
	_, err = find(t, r, second).CopyTo(context.Background(), r, to.Host, false)
	require.ErrorContains(t, err, "artifact "+to.Host+"/mine/shop:1.0.0 exists with other content")
	require.ErrorContains(t, err, "set repository in the input to another name, or add --overwrite")
	_, err = find(t, r, second).CopyTo(context.Background(), r, to.Host, true)
	require.NoError(t, err)
	there, err := r.Client.Resolve(context.Background(), to.Ref("mine/shop", "1.0.0"), r.Credentials)
	require.NoError(t, err)
	assert.Equal(t, d, there.Digest)
}

func TestCopyOfSomePlatforms(t *testing.T) {
	from, to := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	ref, _ := push(t, from, "1", "amd64", "arm64")
	r := reach(t)
	_, err := find(t, r, ref, "linux/arm64").CopyTo(context.Background(), r, to.Host, false)
	require.NoError(t, err)
	from.Down()
	assert.Len(t, whole(t, reach(t), to.Ref("mine/shop", "1.0.0")), 1+1+3)
}

func TestCopyOfVariants(t *testing.T) {
	from, to := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	push(t, from, "1", "amd64", "arm64")
	r := reach(t)
	a, err := combine(context.Background(), r, []string{from.Ref("shop", "arm64"), from.Ref("shop", "amd64")})
	require.NoError(t, err)
	a.Repository, a.Tag = "mine/shop", "1.0.0"
	_, err = a.CopyTo(context.Background(), r, to.Host, false)
	require.NoError(t, err)
	from.Down()
	m, err := reach(t).Client.ManifestFor(context.Background(), to.Ref("mine/shop", "1.0.0"), oci.PullOptions{Platform: "linux/arm64"})
	require.NoError(t, err)
	assert.Equal(t, a.Digest, m.Digest)
}

// blob limits a fault to downloads of one blob.
func blob(d digest.Digest, fault registry.Fault) registry.Fault {
	return func(r *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
		return strings.HasSuffix(request.URL.Path, "/blobs/"+d.String()) && fault(r, w, request)
	}
}

func TestDamagedContentIsRefused(t *testing.T) {
	from, to := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	ref, _ := push(t, from, "1", "amd64")
	r := reach(t)
	a := find(t, r, ref)
	from.Break(blob(digest.FromString("common"), registry.Body("application/octet-stream", []byte("COMMON"))))
	_, err := a.CopyTo(context.Background(), r, to.Host, false)
	require.ErrorIs(t, err, oci.ErrDigest)
	var set bytes.Buffer
	require.ErrorIs(t, a.WriteSet(context.Background(), reach(t), &set), oci.ErrDigest)
	there, err := r.Client.Exists(context.Background(), to.Ref("mine/shop", "1.0.0"), r.Credentials)
	require.NoError(t, err)
	assert.False(t, there, "the tag comes last")
}

// TestSetsOfMadeIndexes looks for an index that no registry has in the blob, beside what it refers to.
func TestSetsOfMadeIndexes(t *testing.T) {
	from := registry.Start(t, registry.Options{})
	ref, _ := push(t, from, "1", "amd64", "arm64")
	r := reach(t)
	combined, err := combine(context.Background(), r, []string{from.Ref("shop", "arm64"), from.Ref("shop", "amd64")})
	require.NoError(t, err)
	for blobs, a := range map[int]*Artifact{1 + 1 + 3: find(t, r, ref, "linux/arm64"), 1 + 2 + 5: combined} {
		var set bytes.Buffer
		require.NoError(t, a.WriteSet(context.Background(), r, &set))
		files := unpack(t, &set)
		assert.Equal(t, a.Index, files["blobs/sha256."+a.Digest.Encoded()])
		assert.Len(t, files, blobs+len([]string{"oci-layout", "index.json"}))
		var index ocispec.Index
		require.NoError(t, json.Unmarshal(files["index.json"], &index))
		assert.Equal(t, a.Digest.String(), index.Annotations["software.ocm/main"])
	}
}

func unpack(t *testing.T, set io.Reader) map[string][]byte {
	t.Helper()
	zipped, err := gzip.NewReader(set)
	require.NoError(t, err)
	files := map[string][]byte{}
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		files[header.Name], err = io.ReadAll(archive)
		require.NoError(t, err)
	}
}

func TestRegistriesThatWantALogin(t *testing.T) {
	from, to := locked(t), locked(t)
	ref, _ := push(t, from, "1", "amd64")
	_, err := findArtifact(context.Background(), reach(t, to), ref, nil)
	require.ErrorIs(t, err, oci.ErrUnauthorized)
	assert.ErrorContains(t, err, from.Host)
	r := reach(t, from)
	_, err = find(t, r, ref).CopyTo(context.Background(), r, to.Host, false)
	require.ErrorIs(t, err, oci.ErrUnauthorized)
	assert.ErrorContains(t, err, to.Host)
}
