// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/interop"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// Components that the OCM CLI wrote.
const (
	interopShop = "example.com/interop/shop:1.2.0"
	interopMid  = "example.com/interop/mid:2.0.0-rc.1+build.7"
	interopLeaf = "example.com/interop/leaf:1.0.0"
)

// interopRoot writes the formats of the OCM CLI below a directory.
func interopRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	formats, err := fs.Sub(interop.Files(), "formats")
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(root, formats))
	return root
}

// interopRegistry serves the repositories that the OCM CLI filled.
func interopRegistry(t *testing.T) *registry.Registry {
	t.Helper()
	reg := registry.Start(t, registry.Options{})
	var index struct {
		Artifacts []struct{ Repository, Tag, MediaType, Digest string }
	}
	require.NoError(t, json.Unmarshal(interop.Read(t, "registry/artifact-index.json"), &index))
	blobOf := func(d string) []byte { return interop.Read(t, "registry/blobs/"+strings.Replace(d, ":", ".", 1)) }
	for _, artifact := range index.Artifacts {
		var manifest struct {
			Config struct{ MediaType, Digest string }
			Layers []struct{ MediaType, Digest string }
		}
		raw := blobOf(artifact.Digest)
		require.NoError(t, json.Unmarshal(raw, &manifest))
		for _, blob := range append(manifest.Layers, manifest.Config) {
			if blob.Digest != "" {
				reg.PushBlob(t, artifact.Repository, blob.MediaType, blobOf(blob.Digest))
			}
		}
		tag := artifact.Tag
		if tag == "" {
			tag = artifact.Digest
		}
		reg.PushManifest(t, artifact.Repository, tag, artifact.MediaType, raw)
	}
	return reg
}

// inPlaceOf makes a client ask a registry in place of the one that descriptors of the OCM CLI name.
func inPlaceOf(t *testing.T, reg *registry.Registry) func(*Options) {
	return func(o *Options) {
		client, err := oci.New(oci.Options{Dir: t.TempDir(), Mirrors: map[string]string{"127.0.0.1:5077": "http://" + reg.Host}})
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		o.OCI = client
	}
}

// foundIn looks up a component version, given as name:version.
func foundIn(t *testing.T, s *Session, written string, spec map[string]any) *component.Descriptor {
	t.Helper()
	name, version, _ := strings.Cut(written, ":")
	found, err := s.Root(t.Context(), byName(name, version, raw(t, spec)))
	require.NoError(t, err)
	return found.Descriptor
}

// sameContents reads all resources that contents.txt lists for a component.
func sameContents(t *testing.T, s *Session, spec map[string]any, written string) {
	t.Helper()
	d := foundIn(t, s, written, spec)
	for _, want := range interop.Contents(t, written) {
		identity := map[string]string{"name": want.Resource}
		maps.Copy(identity, want.Identity)
		resource, err := d.FindResource(identity)
		require.NoError(t, err)
		blob, err := s.Content(t.Context(), d, resource)
		require.NoError(t, err, "%s %v", written, identity)
		content, err := blob.ReadAll(1 << 20)
		require.NoError(t, err)
		require.NoError(t, blob.Close())
		assert.Equal(t, want.MediaType, blob.MediaType, "%s %v", written, identity)
		if want.Resource == "chart" && (d.Schema == component.SchemaV3 || spec["filePath"] == "archive.tgz") {
			// The CLI packed the chart anew for these, with another time inside.
			assert.Equal(t, "\x1f\x8b", string(content[:2]))
			continue
		}
		assert.Equal(t, want.Size, strconv.Itoa(len(content)), "%s %v", written, identity)
		assert.Equal(t, want.Digest, digest.FromBytes(content).String(), "%s %v", written, identity)
	}
}

func TestS5ArchivesOfTheCLIAreToldByTheirContent(t *testing.T) {
	r := repositories(t, func(o *Options) { o.LocalRoot = interopRoot(t) })
	components := map[string][]string{
		"ctf": {interopShop, interopMid, interopLeaf}, "ctf.tar": {interopShop, interopMid, interopLeaf},
		"ctf.tgz": {interopShop, interopMid, interopLeaf}, "ctf-v3alpha1.tgz": {interopShop, interopMid, interopLeaf},
		"archive": {"example.com/interop/arch:1.0.0"}, "archive.tar": {"example.com/interop/arch:1.0.0"},
		"archive.tgz": {"example.com/interop/arch:1.0.0"}, "ctf-accesses-by-value.tgz": {"example.com/interop/accesses:1.0.0"},
	}
	for file, written := range components {
		for _, kind := range []string{"CommonTransportFormat", "ComponentArchive/v1", "ctf"} {
			t.Run(file+" as "+kind, func(t *testing.T) {
				s := session(t, r, Scope{})
				for _, name := range written {
					sameContents(t, s, map[string]any{"type": kind, "filePath": file}, name)
				}
			})
		}
	}
}

func TestS3OlderArchivesOfTheCLI(t *testing.T) {
	r := repositories(t, func(o *Options) { o.LocalRoot = interopRoot(t) })
	s := session(t, r, Scope{})
	d := foundIn(t, s, "example.com/interop/compat:1.0.0", map[string]any{"type": "ComponentArchive", "filePath": "archive-compat"})
	assert.Equal(t, "in an archive", text(t, s, d, "text"))
	chart, err := s.Content(t.Context(), d, find(t, d, "chart"))
	require.NoError(t, err)
	assert.Equal(t, oci.HelmChartLayer, chart.MediaType)
	require.NoError(t, chart.Close())
}

func TestRegistriesOfTheCLI(t *testing.T) {
	reg := interopRegistry(t)
	r := repositories(t, inPlaceOf(t, reg))
	for _, place := range []string{"cli", "clidigest", "clirel", "clicompat", "cliv3", "clichunk2", "clioci2", "cliaccv"} {
		t.Run(place, func(t *testing.T) {
			spec := map[string]any{"type": "OCIRegistry", "baseUrl": "http://127.0.0.1:5077", "subPath": place}
			written := []string{interopShop, interopMid, interopLeaf}
			switch place {
			case "clidigest":
				spec["componentNameMapping"] = component.MappingDigest
			case "clioci2":
				spec["type"], written = "oci/v1", []string{interopLeaf}
			case "cliaccv":
				written = []string{"example.com/interop/accesses:1.0.0"}
			}
			s := session(t, r, Scope{})
			for _, name := range written {
				sameContents(t, s, spec, name)
			}
		})
	}
}

func TestS4BlobsInPartsOfTheCLI(t *testing.T) {
	reg := interopRegistry(t)
	s := session(t, repositories(t, inPlaceOf(t, reg)), Scope{})
	d := foundIn(t, s, interopShop, map[string]any{"type": "OCIRegistry", "baseUrl": "http://127.0.0.1:5077/clichunk2"})
	blueprint := find(t, d, "blueprint")
	assert.Contains(t, blueprint.Access.String(), ",sha256:", "two parts")
	files, _, err := s.Blueprint(t.Context(), d, blueprint)
	require.NoError(t, err)
	_, err = fs.Stat(files, "blueprint.yaml")
	assert.NoError(t, err)
}

func TestSignaturesOfTheCLIInRegistries(t *testing.T) {
	reg := interopRegistry(t)
	s := session(t, repositories(t, inPlaceOf(t, reg)), Scope{})
	d := foundIn(t, s, interopShop, map[string]any{"type": "OCIRegistry", "baseUrl": "http://127.0.0.1:5077/cli"})
	closed, err := s.Closure(t.Context(), d)
	require.NoError(t, err)
	_, err = component.Verify(t.Context(), closed, "sig", component.Keys{PublicKey: interop.Read(t, "keys/rsa.pub")}, s.Digest)
	assert.NoError(t, err)
}

// indexed is a component version in an index, before an artifact that one of its resources is.
func indexed(t *testing.T, reg *registry.Registry) map[string]any {
	t.Helper()
	_, image := reg.Push(t, "team/component-descriptors/example.com/c", "image", registry.Layer{MediaType: "text/plain", Content: "in the image"})
	text := component.NewContent("text/plain", []byte("beside"))
	d := describe(t, "example.com/c", "1.0.0", resource("text", "plainText", localBlob("text/plain", []byte("beside")), []byte("beside"))+
		"  - {name: image, version: 1.0.0, type: ociImage, access: {type: localBlob, localReference: '"+image.String()+
		"', mediaType: application/vnd.oci.image.manifest.v1+json}, digest: {"+digested(component.OCIArtifactDigest, image.Encoded())+"}}\n", nil)
	// Version.Image refuses a reference to what is no layer, so it is written under another access first.
	published := component.Version{Descriptor: d, Blobs: []component.Content{text, {MediaType: absent, Digest: image, Data: text.Data, Size: text.Size}}}
	made, err := published.Image(component.SchemaV2)
	require.NoError(t, err)
	for _, blob := range append([]component.Content{made.Config}, made.Layers[:2]...) {
		reg.PushBlob(t, "team/component-descriptors/example.com/c", blob.MediaType, read(t, blob))
	}
	manifest := withoutAbsent(t, read(t, made.Manifest))
	_, own := reg.PushManifest(t, "team/component-descriptors/example.com/c", "main", made.Manifest.MediaType, manifest)
	linux := &ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}
	reg.PushManifest(t, "team/component-descriptors/example.com/c", "1.0.0", ocispec.MediaTypeImageIndex, ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Manifests: []ocispec.Descriptor{
			{MediaType: made.Manifest.MediaType, Digest: own, Size: int64(len(manifest))},
			{MediaType: ocispec.MediaTypeImageManifest, Digest: image, Size: 1, Platform: linux},
		},
	})
	return ociSpec(reg.Host + "/team")
}

func TestS10ComponentVersionsInAnIndex(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	s := session(t, repositories(t, nil), Scope{})
	d := foundIn(t, s, "example.com/c:1.0.0", indexed(t, reg))
	assert.Equal(t, "beside", text(t, s, d, "text"))
	assert.Equal(t, "in the image", text(t, s, d, "image"))
}

func TestS10LayoutsInLocalBlobs(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	set, manifest := artifactSet(t, component.NewContent("text/plain", []byte("in a layout")))
	for _, mediaType := range []string{"application/vnd.ocm.software.oci.layout.v1+tar+gzip", "application/vnd.ocm.software.oci.layout.v1+tar"} {
		set.MediaType = mediaType
		s := arrange(t, reg, line("layout", "x", localBlob(mediaType, read(t, set)), digested(component.OCIArtifactDigest, manifest.Encoded())), nil, set)
		content, err := s.content(t, "layout")
		require.NoError(t, err)
		assert.Equal(t, "in a layout", content)
	}
}

func TestOtherContentIsRefusedWithACure(t *testing.T) {
	resources := ""
	for _, kind := range []string{"s3/v2", "npm", "maven", "ocm"} {
		resources += line(strings.TrimSuffix(kind, "/v2")+"x", "blob", "{type: "+kind+"}", "")
	}
	s := arrange(t, registry.Start(t, registry.Options{}), resources+line("posted", "x", "{type: wget, url: 'http://127.0.0.1:1/', verb: POST}", ""), nil)
	for _, name := range []string{"s3x", "npmx", "mavenx", "ocmx"} {
		_, err := s.content(t, name)
		assert.Equal(t, fault.Stalled, fault.KindOf(err), name)
		assert.ErrorContains(t, err, "its content is not reached from here; transfer the component version by value", name)
	}
	_, err := s.content(t, "posted")
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
	assert.ErrorContains(t, err, "it sets verb, header or body")
}
