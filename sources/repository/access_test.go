// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// lost is a blob that is not beside its descriptor.
var lost = component.NewContent(absent, []byte("lost"))

// scene is a registry with one component version of the given resources, looked up in a session.
type scene struct {
	reg     *registry.Registry
	session *Session
	d       *component.Descriptor
}

func arrange(t *testing.T, reg *registry.Registry, resources string, change func(*Options), blobs ...component.Content) *scene {
	v := component.Version{Descriptor: describe(t, "example.com/c", "1.0.0", resources, nil), Blobs: blobs}
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/team/components"}, v)
	s := session(t, repositories(t, change), Scope{Repository: raw(t, ociSpec(reg.Host+"/team/components"))})
	found, err := s.Root(t.Context(), byName("example.com/c", "1.0.0", nil))
	require.NoError(t, err)
	return &scene{reg, s, found.Descriptor}
}

func (s *scene) content(t *testing.T, name string) (string, error) {
	blob, err := s.session.Content(t.Context(), s.d, find(t, s.d, name))
	if err != nil {
		return "", err
	}
	defer blob.Close()
	content, err := blob.ReadAll(1 << 20)
	return string(content), err
}

// digested writes the digest of a resource.
func digested(algorithm, value string) string {
	return fmt.Sprintf("hashAlgorithm: SHA-256, normalisationAlgorithm: %s, value: '%s'", algorithm, value)
}

func line(name, kind, access, digest string) string {
	if digest != "" {
		digest = ", digest: {" + digest + "}"
	}
	return fmt.Sprintf("  - {name: %s, version: 1.0.0, type: %s, relation: external, access: %s%s}\n", name, kind, access, digest)
}

func TestAccessesInRegistries(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	chart := "the chart"
	ref, manifest := reg.Push(t, "team/components/charts/web", "1.0.0", registry.Layer{MediaType: "application/x-provenance", Content: "p"}, registry.Layer{MediaType: oci.HelmChartLayer, Content: chart})
	reg.Push(t, "charts/web", "2.0.0", registry.Layer{MediaType: oci.HelmChartLayer, Content: "at the host"})
	blob := reg.PushBlob(t, "blobs", "text/plain", []byte("alone"))
	s := arrange(t, reg,
		line("oci", "helmChart", "{type: ociArtifact, imageReference: '"+ref+"'}", digested("ociArtifactDigest/v1", manifest.Encoded()))+
			line("old", "helm.io/chart", "{type: ociRegistry, imageReference: '"+ref+"'}", "")+
			line("relative", "helmChart", "{type: relativeOciReference, reference: 'charts/web:1.0.0'}", "")+
			line("athost", "helmChart", "{type: relativeOciReference, reference: 'charts/web:2.0.0'}", "")+
			line("blob", "plainText", fmt.Sprintf("{type: ociBlob, ref: %s/blobs, mediaType: text/plain, digest: '%s', size: %d}", reg.Host, blob.Digest, blob.Size), digested("genericBlobDigest/v1", blob.Digest.Encoded()))+
			line("global", "helmChart", "{type: localBlob, localReference: '"+lost.Digest.String()+"', mediaType: x/y, globalAccess: {type: ociArtifact, imageReference: '"+ref+"'}}", ""), nil, lost)
	for name, want := range map[string]string{"oci": chart, "old": chart, "relative": chart, "athost": "at the host", "blob": "alone", "global": chart} {
		t.Run(name, func(t *testing.T) {
			got, err := s.content(t, name)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestLocalBlobsOfOldTypes(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	blob := component.NewContent("text/plain", []byte("a layer"))
	s := arrange(t, reg, line("layer", "plainText", "{type: localOciBlob, digest: '"+blob.Digest.String()+"'}", ""), nil, blob)
	got, err := s.content(t, "layer")
	require.NoError(t, err)
	assert.Equal(t, "a layer", got)
}

func TestDigestsOfResourcesAreCompared(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	ref, _ := reg.Push(t, "charts/web", "1.0.0", registry.Layer{MediaType: oci.HelmChartLayer, Content: "chart"})
	blob := component.NewContent("text/plain", []byte("content"))
	local := fmt.Sprintf("{type: localBlob, localReference: '%s', mediaType: text/plain}", blob.Digest)
	wrong := strings.Repeat("ab", 32)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("from the web")) }))
	defer web.Close()
	s := arrange(t, reg,
		line("oci", "helmChart", "{type: ociArtifact, imageReference: '"+ref+"'}", digested("ociArtifactDigest/v1", wrong))+
			line("local", "plainText", local, digested("genericBlobDigest/v1", wrong))+
			line("web", "plainText", "{type: wget, url: '"+web.URL+"'}", digested("genericBlobDigest/v1", wrong))+
			line("nooci", "plainText", local, digested("ociArtifactDigest/v1", wrong))+
			line("unknown", "plainText", local, digested("someDigest/v7", wrong))+
			line("malformed", "plainText", local, digested("genericBlobDigest/v1", "xyz")), nil, blob)
	for _, name := range []string{"oci", "local", "web", "nooci", "unknown", "malformed"} {
		t.Run(name, func(t *testing.T) {
			_, err := s.content(t, name)
			require.Error(t, err)
			assert.Equal(t, fault.Stalled, fault.KindOf(err), err)
			assert.ErrorContains(t, err, fmt.Sprintf("resource %q of component example.com/c:1.0.0", name))
		})
	}
}

func TestOtherHashesAreCompared(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	content := []byte("content")
	blob := component.NewContent("text/plain", content)
	local := fmt.Sprintf("{type: localBlob, localReference: '%s', mediaType: text/plain}", blob.Digest)
	right := digest.SHA512.FromBytes(content).Encoded()
	with := func(value string) string {
		return "hashAlgorithm: SHA-512, normalisationAlgorithm: genericBlobDigest/v1, value: '" + value + "'"
	}
	s := arrange(t, reg, line("right", "plainText", local, with(right))+line("wrong", "plainText", local, with(strings.Repeat("ab", 64)))+
		line("none", "plainText", local, "hashAlgorithm: NO-DIGEST, normalisationAlgorithm: EXCLUDE-FROM-SIGNATURE, value: NO-DIGEST"), nil, blob)
	for name, fine := range map[string]bool{"right": true, "none": true, "wrong": false} {
		t.Run(name, func(t *testing.T) {
			got, err := s.content(t, name)
			if !fine {
				require.Error(t, err)
				assert.Equal(t, fault.Stalled, fault.KindOf(err))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "content", got)
		})
	}
}

// artifactSet is an archive of an OCI artifact in the form of an OCI layout, and the digest of its manifest.
func artifactSet(t *testing.T, layers ...component.Content) (component.Content, digest.Digest) {
	config := component.NewContent(ocispec.MediaTypeImageConfig, []byte("{}"))
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: ocispec.Descriptor{MediaType: config.MediaType, Digest: config.Digest, Size: config.Size}}
	m.SchemaVersion = 2
	files := map[string]string{"oci-layout": `{"imageLayoutVersion":"1.0.0"}`, "blobs/sha256/" + config.Digest.Encoded(): "{}"}
	for _, l := range layers {
		m.Layers = append(m.Layers, ocispec.Descriptor{MediaType: l.MediaType, Digest: l.Digest, Size: l.Size})
		files["blobs/sha256/"+l.Digest.Encoded()] = string(read(t, l))
	}
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	files["blobs/sha256/"+digest.FromBytes(raw).Encoded()] = string(raw)
	index, err := json.Marshal(ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{{MediaType: m.MediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}}})
	require.NoError(t, err)
	files["index.json"] = string(index)
	return component.NewContent("application/vnd.oci.image.manifest.v1+tar+gzip", packed(t, true, files)), digest.FromBytes(raw)
}

func TestBlueprintForms(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	zipped, plain := packed(t, true, blueprintFiles), packed(t, false, blueprintFiles)
	ref, _ := reg.Push(t, "blueprints/shop", "1", registry.Layer{MediaType: blueprintLayer, Content: string(zipped)})
	bare, _ := reg.Push(t, "blueprints/bare", "1", registry.Layer{MediaType: "application/gzip", Content: string(zipped)})
	set, manifest := artifactSet(t, component.NewContent("application/x-other", []byte("?")), component.NewContent(blueprintLayer, zipped))
	const kind = "landscaper.gardener.cloud/blueprint"
	blobs := []component.Content{set}
	resources := line("oci", kind, "{type: ociArtifact, imageReference: '"+ref+"'}", "") +
		line("bare", "blueprint", "{type: ociArtifact, imageReference: '"+bare+"'}", "") +
		line("set", kind, localBlob(set.MediaType, read(t, set)), digested("ociArtifactDigest/v1", manifest.Encoded())) +
		line("setblob", kind, localBlob(set.MediaType, read(t, set)), digested("genericBlobDigest/v1", set.Digest.Encoded()))
	for name, form := range map[string]component.Content{
		"v1tar":  component.NewContent("application/vnd.gardener.landscaper.blueprint.v1+tar", plain),
		"v1tgz":  component.NewContent("application/vnd.gardener.landscaper.blueprint.v1+tar+gzip", zipped),
		"layer":  component.NewContent("application/vnd.gardener.landscaper.blueprint.layer.v1.tar", plain),
		"tar":    component.NewContent("application/x-tar", plain),
		"gzip":   component.NewContent("application/gzip", zipped),
		"tgz":    component.NewContent("application/x-tgz", zipped),
		"untold": component.NewContent("application/octet-stream", zipped),
	} {
		blobs = append(blobs, form)
		resources += line(name, kind, localBlob(form.MediaType, read(t, form)), "")
	}
	s := arrange(t, reg, resources, nil, blobs...)
	digests := map[string]bool{}
	for i := range s.d.Resources {
		t.Run(s.d.Resources[i].Name, func(t *testing.T) {
			files, sum, err := s.session.Blueprint(t.Context(), s.d, &s.d.Resources[i])
			require.NoError(t, err)
			content, err := fs.ReadFile(files, "blueprint.yaml")
			require.NoError(t, err)
			assert.Equal(t, "kind: Blueprint", string(content))
			digests[sum] = true
		})
	}
	assert.Len(t, digests, 1, "the files are the same")
}

func TestBlueprintRefusals(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	const kind = "landscaper.gardener.cloud/blueprint"
	good := component.NewContent("application/gzip", packed(t, true, blueprintFiles))
	out := component.NewContent("application/x-tar", packed(t, false, map[string]string{"../out": "x"}))
	bomb := component.NewContent("application/gzip", packed(t, true, map[string]string{"zeros": string(bytes.Repeat([]byte{0}, 33<<20))}))
	set, _ := artifactSet(t, good)
	wrong := strings.Repeat("ab", 32)
	s := arrange(t, reg, line("type", "plainText", localBlob(good.MediaType, read(t, good)), "")+
		line("out", kind, localBlob(out.MediaType, read(t, out)), "")+
		line("bomb", kind, localBlob(bomb.MediaType, read(t, bomb)), "")+
		line("set", kind, localBlob(set.MediaType, read(t, set)), digested("ociArtifactDigest/v1", wrong))+
		line("none", kind, "{type: none}", "")+
		line("missing", kind, "{type: localBlob, localReference: '"+lost.Digest.String()+"', mediaType: a/b, globalAccess: {type: ociArtifact, imageReference: '"+reg.Host+"/no:1'}}", ""), nil, good, out, bomb, set, lost)
	for name, says := range map[string]string{"type": "not a blueprint", "out": "..", "bomb": "bytes", "set": wrong, "none": "no content", "missing": "could not"} {
		t.Run(name, func(t *testing.T) {
			_, _, err := s.session.Blueprint(t.Context(), s.d, find(t, s.d, name))
			require.ErrorContains(t, err, says)
			assert.Equal(t, fault.Stalled, fault.KindOf(err))
		})
	}
}

func TestCharts(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	blob := component.NewContent(oci.HelmChartLayer, []byte("tgz"))
	at := strings.Repeat("ab", 32)
	s := arrange(t, reg,
		line("oci", "helmChart", "{type: ociArtifact, imageReference: 'example.com/web:1.0.0'}", "")+
			line("pinned", "helmChart", "{type: ociArtifact, imageReference: 'example.com/web:1.0.0'}", digested("ociArtifactDigest/v1", at))+
			line("relative", "helmChart", "{type: relativeOciReference, reference: 'charts/web:1.0.0'}", digested("ociArtifactDigest/v1", at))+
			line("http", "helmChart", "{type: helm, helmRepository: 'https://charts.example.com', helmChart: 'web:1.0.0'}", digested("genericBlobDigest/v1", at))+
			line("generic", "helmChart", "{type: ociArtifact, imageReference: 'example.com/web:1.0.0'}", digested("genericBlobDigest/v1", strings.ToUpper(at)))+
			line("other", "helmChart", "{type: ociArtifact, imageReference: 'example.com/web@sha256:"+strings.Repeat("cd", 32)+"'}", digested("ociArtifactDigest/v1", at))+
			line("ocihelm", "helmChart", "{type: helm, helmRepository: 'oci://example.com/charts', helmChart: web, version: 1.0.0+b1}", "")+
			line("local", "helmChart", localBlob(oci.HelmChartLayer, []byte("tgz")), ""), nil, blob)
	for name, want := range map[string]Chart{
		"oci":      {OCI: "example.com/web:1.0.0"},
		"pinned":   {OCI: "example.com/web:1.0.0@sha256:" + at},
		"relative": {OCI: reg.Host + "/team/components/charts/web:1.0.0@sha256:" + at},
		"http":     {Repository: "https://charts.example.com", Name: "web", Version: "1.0.0", Digest: digest.Digest("sha256:" + at)},
		"ocihelm":  {OCI: "example.com/charts/web:1.0.0_b1"},
		"generic":  {OCI: "example.com/web:1.0.0", Digest: digest.Digest("sha256:" + at)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.session.Chart(t.Context(), s.d, find(t, s.d, name))
			require.NoError(t, err)
			assert.Equal(t, want, *got)
		})
	}
	_, err := s.session.Chart(t.Context(), s.d, find(t, s.d, "other"))
	require.ErrorIs(t, err, ErrDigest)
	got, err := s.session.Chart(t.Context(), s.d, find(t, s.d, "local"))
	require.NoError(t, err)
	defer got.Content.Close()
	assert.Equal(t, blob.Digest, got.Digest)
}

func TestDigestsForSignatures(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	ref, manifest := reg.Push(t, "charts/web", "1.0.0", registry.Layer{MediaType: oci.HelmChartLayer, Content: "chart"})
	blob := component.NewContent("text/plain", []byte("content"))
	s := arrange(t, reg, line("oci", "helmChart", "{type: ociArtifact, imageReference: '"+ref+"'}", "")+line("local", "plainText", localBlob("text/plain", []byte("content")), ""), nil, blob)
	spec := func(of string, d digest.Digest) component.DigestSpec {
		return component.DigestSpec{HashAlgorithm: component.HashSHA256, NormalisationAlgorithm: of, Value: d.Encoded()}
	}
	reg.Forget()
	for name, want := range map[string]component.DigestSpec{"oci": spec(component.OCIArtifactDigest, manifest), "local": spec(component.GenericBlobDigest, blob.Digest)} {
		t.Run(name, func(t *testing.T) {
			got, err := s.session.Digest(t.Context(), s.d, find(t, s.d, name), want)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			want.Value = strings.Repeat("ab", 32)
			_, err = s.session.Digest(t.Context(), s.d, find(t, s.d, name), want)
			assert.ErrorIs(t, err, ErrDigest)
		})
	}
	assert.Equal(t, 1, reg.Count(http.MethodGet, "blobs"), "the artifact is compared by its manifest")
}

func TestImageReferences(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	s := arrange(t, reg, line("oci", "ociImage", "{type: ociArtifact, imageReference: 'example.com/web:1.0.0'}", "")+
		line("relative", "ociImage", "{type: relativeOciReference, reference: 'images/web:1.0.0'}", "")+
		line("global", "ociImage", "{type: localBlob, localReference: '"+lost.Digest.String()+"', mediaType: x/y, globalAccess: {type: ociArtifact, imageReference: 'example.com/g:1'}}", "")+
		line("web", "ociImage", "{type: wget, url: 'https://example.com'}", ""), nil, lost)
	for name, want := range map[string]string{"oci": "example.com/web:1.0.0", "relative": reg.Host + "/team/components/images/web:1.0.0", "global": "example.com/g:1"} {
		t.Run(name, func(t *testing.T) {
			got, err := s.session.ImageReference(t.Context(), s.d, find(t, s.d, name))
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
	_, err := s.session.ImageReference(t.Context(), s.d, find(t, s.d, "web"))
	assert.ErrorContains(t, err, "not an OCI artifact")
}

func TestGitAccess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bp"), 0o755))
	for name, content := range map[string]string{"bp/blueprint.yaml": "kind: Blueprint", "other": "x"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	url := serveGit(t, dir)
	reg := registry.Start(t, registry.Options{})
	s := arrange(t, reg, line("git", "blueprint", "{type: git, repository: '"+url+"', ref: master, pathSpec: bp}", "")+
		line("digested", "blueprint", "{type: git, repository: '"+url+"', ref: master, pathSpec: bp}", digested("genericBlobDigest/v1", strings.Repeat("ab", 32))), nil)
	files, _, err := s.session.Blueprint(t.Context(), s.d, find(t, s.d, "git"))
	require.NoError(t, err)
	entries, err := fs.ReadDir(files, ".")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "blueprint.yaml", entries[0].Name())
	_, _, err = s.session.Blueprint(t.Context(), s.d, find(t, s.d, "digested"))
	require.ErrorIs(t, err, fetch.ErrDigest)
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
}

func TestAPanicOverARepositoryIsAnErrorOfItsReader(t *testing.T) {
	reader, err := piped(func(context.Context, io.Writer) error { panic("broken") })(t.Context())
	require.NoError(t, err)
	_, err = io.ReadAll(reader)
	require.ErrorContains(t, err, "it broke off by a panic: a value of type string in ")
}
