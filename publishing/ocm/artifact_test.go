// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// base is where artifacts go in these tests; nothing is copied there.
const base = "registry.example.com/components"

// builder makes a Builder that reaches registries.
func builder(t *testing.T, base string) *Builder {
	t.Helper()
	c, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	workspace, err := publishing.NewWorkspace()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, workspace.Close()) })
	return &Builder{Workspace: workspace, Base: base, Registry: publishing.Registry{Client: c}}
}

func (b *Builder) make(t *testing.T, text string) (component.Version, error) {
	t.Helper()
	read, err := ParseConstructor([]byte(text))
	require.NoError(t, err)
	require.Empty(t, read.Warnings)
	return b.Build(context.Background(), &read.Components[0])
}

// input is a constructor with one resource of an input, in which HOST stands for the registry.
func input(server *registry.Registry, fields string) string {
	return strings.ReplaceAll(resource("input: {"+fields+"}"), "HOST", server.Host)
}

// image pushes an image for one platform and returns its descriptor.
func image(t *testing.T, server *registry.Registry, repository, tag, os, architecture string) ocispec.Descriptor {
	t.Helper()
	config := []byte(fmt.Sprintf(`{"os":%q,"architecture":%q}`, os, architecture))
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: server.PushBlob(t, repository, ocispec.MediaTypeImageConfig, config),
		Layers: []ocispec.Descriptor{server.PushBlob(t, repository, ocispec.MediaTypeImageLayerGzip, []byte("layer of "+architecture))}}
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	_, d := server.PushManifest(t, repository, tag, m.MediaType, raw)
	return ocispec.Descriptor{MediaType: m.MediaType, Digest: d, Size: int64(len(raw)), Platform: &ocispec.Platform{OS: os, Architecture: architecture}}
}

// index pushes an image for two platforms.
func index(t *testing.T, server *registry.Registry, repository, tag string) digest.Digest {
	t.Helper()
	_, d := server.PushManifest(t, repository, tag, ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Annotations: map[string]string{"who": "me"},
		Manifests:   []ocispec.Descriptor{image(t, server, repository, tag+"-amd64", "linux", "amd64"), image(t, server, repository, tag+"-arm64", "linux", "arm64")}})
	return d
}

func TestNamesOfArtifacts(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	d := index(t, server, "team/shop", "1.4.2")
	server.PushManifest(t, "team/shop", "latest", ocispec.MediaTypeImageIndex, raw(t, server, "team/shop", "1.4.2"))
	for name, test := range map[string]struct{ input, name, reference string }{
		"tag":                 {"type: ociArtifact, path: 'HOST/team/shop:1.4.2'", "team/shop:1.4.2", "team/shop:1.4.2"},
		"no tag":              {"type: ociImage, path: HOST/team/shop", "team/shop:latest", "team/shop:latest"},
		"digest":              {"type: ociImage/v1, path: 'HOST/team/shop@DIGEST'", "team/shop:1.0.0", "team/shop@DIGEST"},
		"tag and digest":      {"type: ociImage, path: 'HOST/team/shop:1.4.2@DIGEST'", "team/shop:1.4.2", "team/shop:1.4.2@DIGEST"},
		"scheme":              {"type: ociImage, path: 'oci://HOST/team/shop:1.4.2'", "team/shop:1.4.2", "team/shop:1.4.2"},
		"without TLS":         {"type: ociImage, path: 'http://HOST/team/shop:1.4.2'", "team/shop:1.4.2", "team/shop:1.4.2"},
		"repository":          {"type: ociImage, path: 'HOST/team/shop:1.4.2', repository: web", "example.com/shop/web:1.4.2", "example.com/shop/web:1.4.2"},
		"absolute repository": {"type: ociImage, path: 'HOST/team/shop:1.4.2', repository: '/web/it:2'", "web/it:2", "web/it:2"},
		"one variant":         {"type: dockermulti, variants: ['HOST/team/shop:1.4.2']", "team/shop:1.4.2", "team/shop:1.4.2"},
	} {
		t.Run(name, func(t *testing.T) {
			b := builder(t, base)
			v, err := b.make(t, strings.ReplaceAll(input(server, test.input), "DIGEST", string(d)))
			require.NoError(t, err)
			require.Len(t, b.Artifacts, 1)
			assert.Equal(t, test.name, b.Artifacts[0].Name())
			assert.Empty(t, v.Blobs)
			made := v.Descriptor.Resources[0]
			access, err := component.ParseAccess(made.Access)
			require.NoError(t, err)
			assert.Equal(t, component.OCIArtifact{ImageReference: base + "/" + strings.ReplaceAll(test.reference, "DIGEST", string(d))}, access)
			assert.Equal(t, &component.DigestSpec{HashAlgorithm: "SHA-256", NormalisationAlgorithm: "ociArtifactDigest/v1", Value: d.Encoded()}, made.Digest)
			assert.Equal(t, component.RelationLocal, made.Relation)
		})
	}
}

// raw returns a manifest as the registry has it.
func raw(t *testing.T, server *registry.Registry, repository, tag string) []byte {
	t.Helper()
	top, err := builder(t, "").Registry.Client.Top(context.Background(), server.Ref(repository, tag), oci.Credentials{})
	require.NoError(t, err)
	return top.Raw
}

func TestS8ReferencesAtARegistryWithoutTLSKeepTheScheme(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	image(t, server, "shop", "1", "linux", "amd64")
	v, err := builder(t, "http://registry.example.com/components").make(t, input(server, "type: ociImage, path: 'HOST/shop:1'"))
	require.NoError(t, err)
	access, err := component.ParseAccess(v.Descriptor.Resources[0].Access)
	require.NoError(t, err)
	assert.Equal(t, component.OCIArtifact{ImageReference: "http://registry.example.com/components/shop:1"}, access)
}

func TestArtifactsInBlobs(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	d := index(t, server, "team/shop", "1.4.2")
	single := image(t, server, "team/web", "2", "linux", "amd64").Digest
	for name, test := range map[string]struct {
		input, mediaType, name string
		digest                 digest.Digest
	}{
		"image": {"type: ociImage, path: 'HOST/team/web:2'", "application/vnd.oci.image.manifest.v1+tar+gzip", "team/web:2", single},
		"index": {"type: ociArtifact, path: 'HOST/team/shop:1.4.2'", "application/vnd.oci.image.index.v1+tar+gzip", "team/shop:1.4.2", d},
	} {
		t.Run(name, func(t *testing.T) {
			b := builder(t, "")
			v, err := b.make(t, input(server, test.input))
			require.NoError(t, err)
			assert.Empty(t, b.Artifacts)
			require.Len(t, v.Blobs, 1)
			made := v.Descriptor.Resources[0]
			access, err := component.ParseAccess(made.Access)
			require.NoError(t, err)
			assert.Equal(t, component.LocalBlob{LocalReference: v.Blobs[0].Digest.String(), MediaType: test.mediaType, ReferenceName: test.name}, access)
			assert.Equal(t, &component.DigestSpec{HashAlgorithm: "SHA-256", NormalisationAlgorithm: "ociArtifactDigest/v1", Value: test.digest.Encoded()}, made.Digest)
			again, err := builder(t, "").make(t, input(server, test.input))
			require.NoError(t, err)
			assert.Equal(t, v.Blobs[0].Digest, again.Blobs[0].Digest)
		})
	}
}

func TestPlatforms(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	index(t, server, "shop", "1")
	for name, test := range map[string]struct {
		platforms string
		parts     int
	}{"one": {"linux/arm64", 1}, "any os": {"/amd64", 1}, "any architecture": {"linux/", 2}, "two": {"linux/arm64, linux/amd64", 2}} {
		t.Run(name, func(t *testing.T) {
			b := builder(t, base)
			v, err := b.make(t, input(server, "type: ociImage, path: 'HOST/shop:1', platforms: ["+test.platforms+"]"))
			require.NoError(t, err)
			a := b.Artifacts[0]
			assert.Len(t, a.Parts, test.parts)
			var made ocispec.Index
			require.NoError(t, json.Unmarshal(a.Index, &made))
			assert.Len(t, made.Manifests, test.parts)
			assert.Equal(t, "me", made.Annotations["who"])
			assert.Equal(t, digest.FromBytes(a.Index).Encoded(), v.Descriptor.Resources[0].Digest.Value)
		})
	}
}

func TestVariantsBecomeOneImage(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	amd := image(t, server, "shop-amd64", "1", "linux", "amd64")
	arm := image(t, server, "shop-arm64", "1", "linux", "arm64")
	b := builder(t, base)
	v, err := b.make(t, input(server, "type: dockermulti, variants: ['HOST/shop-amd64:1', 'HOST/shop-arm64:1'], repository: shop"))
	require.NoError(t, err)
	a := b.Artifacts[0]
	var made ocispec.Index
	require.NoError(t, json.Unmarshal(a.Index, &made))
	assert.Equal(t, []ocispec.Descriptor{amd, arm}, made.Manifests)
	assert.Equal(t, "example.com/shop/shop:1.0.0", a.Name())
	assert.Equal(t, a.Digest.Encoded(), v.Descriptor.Resources[0].Digest.Value)
}

func TestArtifactsThatCannotBeTakenOver(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	index(t, server, "shop", "1")
	index(t, server, "other/shop", "1-arm64")
	image(t, server, "web", "1", "linux", "amd64")
	image(t, server, "nowhere", "1", "", "")
	image(t, server, "component-descriptors/x", "1", "linux", "amd64")
	const head = "component example.com/shop:1.0.0: resource rr: input: "
	wrong := string(digest.FromString("wrong"))
	for name, test := range map[string]struct{ input, want string }{
		"no reference":       {"type: ociArtifact", head + "path is missing; write the reference of the artifact"},
		"malformed":          {"type: ociArtifact, path: 'HOST/Shop:1'", "it is not an OCI reference; write it as"},
		"unknown tag":        {"type: ociArtifact, path: 'HOST/shop:2'", server.Host + "/shop:2"},
		"wrong digest":       {"type: ociArtifact, path: 'HOST/shop@" + wrong + "'", "shop@" + wrong},
		"repository":         {"type: ociImage, path: 'HOST/shop:1', repository: SHOP", `repository "SHOP" is not a valid name of a repository; write it in lower case`},
		"digest as name":     {"type: ociImage, path: 'HOST/shop:1', repository: 'a@" + wrong + "'", "is not a valid name of a repository"},
		"among components":   {"type: ociImage, path: 'HOST/component-descriptors/x:1'", "would lie among the component versions; set repository"},
		"platform":           {"type: ociImage, path: 'HOST/shop:1', platforms: [amd64]", `platforms: "amd64" is not a platform; write os/architecture`},
		"no such platform":   {"type: ociImage, path: 'HOST/shop:1', platforms: [linux/s390x]", "has nothing for platforms [linux/s390x], but for linux/amd64, linux/arm64; correct platforms"},
		"variants twice":     {"type: dockermulti, variants: ['HOST/web:1', 'HOST/web:1']", "are both for linux/amd64; keep one"},
		"variant of several": {"type: dockermulti, variants: ['HOST/web:1', 'HOST/shop:1']", "has several platforms already; name it alone"},
		"variant of none":    {"type: dockermulti, variants: ['HOST/web:1', 'HOST/nowhere:1']", "does not say for which os and architecture it is"},
		"daemon":             {"type: docker, path: 'shop:1'", "push the image of the Docker daemon to a registry first"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := builder(t, base).make(t, input(server, test.input))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestTwoArtifactsOfOneName(t *testing.T) {
	server, other := registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	image(t, server, "shop", "1", "linux", "amd64")
	image(t, other, "shop", "1", "linux", "arm64")
	b := builder(t, base)
	_, err := b.make(t, input(server, "type: ociImage, path: 'HOST/shop:1'"))
	require.NoError(t, err)
	_, err = b.make(t, input(server, "type: ociImage, path: 'HOST/shop:1'"))
	require.NoError(t, err)
	assert.Len(t, b.Artifacts, 1)
	_, err = b.make(t, input(other, "type: ociImage, path: 'HOST/shop:1'"))
	assert.ErrorContains(t, err, "two artifacts would be called shop:1")
}

func TestDigestsOfContentElsewhere(t *testing.T) {
	url := web(t)
	for name, test := range map[string]struct{ access, want string }{
		"chart":   {"{type: helm, helmRepository: '" + url + "', helmChart: 'web:1.0.0'}", digest.FromString("chart").Encoded()},
		"file":    {"{type: wget, url: '" + url + "/web.tgz'}", digest.FromString("chart").Encoded()},
		"skipped": {"{type: wget, url: '" + url + "/web.tgz'}\noptions: {skipDigestGeneration: true}", ""},
		"commit":  {"{type: gitHub, repoUrl: github.com/a/b, commit: c}", ""},
		"s3":      {"{type: s3, bucketName: b}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := builder(t, base)
			b.Digest = knownDigest
			v, err := b.make(t, resource("version: 2.0.0\naccess: "+test.access))
			require.NoError(t, err)
			assert.Empty(t, v.Blobs)
			if test.want == "" {
				assert.Nil(t, v.Descriptor.Resources[0].Digest)
				return
			}
			assert.Equal(t, &component.DigestSpec{HashAlgorithm: "SHA-256", NormalisationAlgorithm: "genericBlobDigest/v1", Value: test.want},
				v.Descriptor.Resources[0].Digest)
		})
	}
	b := builder(t, base)
	b.Digest = knownDigest
	_, err := b.make(t, resource("version: 2.0.0\naccess: {type: wget, url: '"+url+"/none'}"))
	assert.ErrorContains(t, err, "resource rr: the digest of the content cannot be found")
	assert.ErrorContains(t, err, "--skip-digest-generation")
}

// web serves a Helm repository with a chart in two versions, of which the index says a wrong digest for 2.0.0.
func web(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/charts/index.yaml":
			_, _ = fmt.Fprintf(w, "entries: {web: [{version: 1.0.0, urls: [web.tgz], digest: %x}, {version: 2.0.0, urls: [web.tgz], digest: %x}]}\n",
				sha256.Sum256([]byte("chart")), sha256.Sum256([]byte("other")))
		case "/charts/asked":
			if asked, _ := io.ReadAll(r.Body); r.Method == http.MethodPost && r.Header.Get("X-Who") == "me" && string(asked) == "which" {
				_, _ = w.Write([]byte("chart"))
			}
		case "/charts/web.tgz":
			_, _ = w.Write([]byte("chart"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/charts"
}

func TestDownloads(t *testing.T) {
	server, url := registry.Start(t, registry.Options{}), web(t)
	server.Push(t, "charts/web", "1.0.0_a", registry.Layer{MediaType: oci.HelmChartLayer, Content: "chart"})
	for name, test := range map[string]struct{ input, mediaType string }{
		"chart over HTTP":     {"type: helm, path: web, version: 1.0.0, helmRepository: '" + url + "'", oci.HelmChartLayer},
		"chart of a registry": {"type: helm, path: web, version: 1.0.0+a, helmRepository: 'oci://HOST/charts/'", oci.HelmChartLayer},
		"file":                {"type: wget, url: '" + url + "/web.tgz', mediaType: text/x", "text/x"},
		"file without type":   {"type: wget, url: '" + url + "/web.tgz'", "application/octet-stream"},
		"request":             {"type: wget, url: '" + url + "/asked', verb: post, header: {X-Who: [me]}, body: '!which'", "application/octet-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := builder(t, base).make(t, input(server, test.input))
			require.NoError(t, err)
			require.Len(t, v.Blobs, 1)
			assert.Equal(t, "chart", textOf(t, v.Blobs[0]))
			assert.Equal(t, test.mediaType, v.Blobs[0].MediaType)
			assert.Equal(t, digest.FromString("chart").Encoded(), v.Descriptor.Resources[0].Digest.Value)
		})
	}
}

func TestDownloadsThatFail(t *testing.T) {
	server, url := registry.Start(t, registry.Options{}), web(t)
	server.Push(t, "charts/web", "1.0.0", registry.Layer{MediaType: "text/plain", Content: "no chart"})
	for name, test := range map[string]struct{ input, want string }{
		"other digest":    {"type: helm, path: web, version: 2.0.0, helmRepository: '" + url + "'", digest.FromString("other").String()},
		"unknown version": {"type: helm, path: web, version: 3.0.0, helmRepository: '" + url + "'", `it has no chart web in version "3.0.0"; check name and version`},
		"no repository":   {"type: helm, path: web, version: 1.0.0, helmRepository: '" + url + "/none'", "the server answers 404; check the URL"},
		"no chart":        {"type: helm, path: web, version: 1.0.0, helmRepository: 'oci://HOST/charts'", "it has no layer of type " + oci.HelmChartLayer},
		"git over HTTP":   {"type: git, repository: 'http://127.0.0.1:1/a', ref: main", "https"},
		"no file":         {"type: wget, url: '" + url + "/none'", "the server answers 404"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := builder(t, base).make(t, input(server, test.input))
			require.ErrorContains(t, err, "component example.com/shop:1.0.0: resource rr: input: ")
			assert.ErrorContains(t, err, test.want)
		})
	}
}
