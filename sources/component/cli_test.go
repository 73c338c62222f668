// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/interop"
)

func TestFormatsOfTheCLI(t *testing.T) {
	for name, versions := range map[string]int{
		"ctf": 5, "ctf.tar": 5, "ctf.tgz": 5, "ctf-v3alpha1.tgz": 3, "archive": 1, "archive.tar": 1, "archive.tgz": 1, "archive-compat": 1,
		"ctf-accesses.tgz": 2, "ctf-accesses-by-value.tgz": 1, "ctf-statics.tgz": 1,
	} {
		collection, err := component.Open(interop.Unpack(t, "formats/"+name))
		require.NoError(t, err)
		assert.Len(t, collection.Keys(), versions, name)
		for _, key := range collection.Keys() {
			d, err := collection.Component(t.Context(), key)
			require.NoError(t, err, "%s %s", name, key)
			for i := range d.Resources {
				_, err := component.ParseAccess(d.Resources[i].Access)
				assert.NoError(t, err, "%s %s", key, d.Resources[i].Name)
			}
		}
	}
}

func TestS1ArchivesNameBlobsAsFiles(t *testing.T) {
	v, out := withBlob(t, "a", "hello"), files{}
	require.NoError(t, component.WriteArchive(out, v, component.SchemaV2))
	file := strings.Replace(string(v.Blobs[0].Digest), ":", ".", 1)
	assert.Contains(t, out, "blobs/"+file)
	assert.Contains(t, string(out[component.DescriptorFile].Data), "localReference: "+file+"\n")
	assert.Contains(t, v.Descriptor.Resources[0].Access.String(), string(v.Blobs[0].Digest), "the descriptor stays as it was given")
}

func TestS3FieldsOfAccessesInAnyCase(t *testing.T) {
	for text, want := range map[string]component.Access{
		"{type: localFilesystemBlob, fileName: f}": component.LocalFilesystemBlob{Filename: "f"},
		"{type: localFilesystemBlob, filename: f}": component.LocalFilesystemBlob{Filename: "f"},
		"{type: wget, URL: u, MediaType: m}":       component.Web{URL: "u", MediaType: "m"},
		"{type: wget, URL: other, url: u}":         component.Web{URL: "u"},
	} {
		got, err := component.ParseAccess(typedOf(t, text))
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestS4BlobsInPartsAreRead(t *testing.T) {
	v := withBlob(t, "a", "first")
	v.Blobs = append(v.Blobs, component.NewContent(blobType, []byte(" second")))
	first, second := string(v.Blobs[0].Digest), string(v.Blobs[1].Digest)
	for name, write := range map[string]func(component.Sink) error{
		"CTF":               func(s component.Sink) error { return component.WriteCTF(s, []component.Version{v}, component.SchemaV2) },
		"component archive": func(s component.Sink) error { return component.WriteArchive(s, v, component.SchemaV2) },
	} {
		t.Run(name, func(t *testing.T) {
			out := files{}
			require.NoError(t, write(out))
			repository, err := component.Open(fstest.MapFS(out))
			require.NoError(t, err)
			for reference, want := range map[string]string{
				first + "," + second: "first second", second + "," + first + "," + second: " secondfirst second",
				strings.ReplaceAll(first+","+second, ":", "."): "first second",
			} {
				data, _ := read(t, repository, v.Descriptor, reference)
				assert.Equal(t, want, data)
			}
			absent := string(digest.FromString("absent"))
			blob, _, err := repository.Blob(t.Context(), v.Descriptor, first+","+absent)
			if err == nil {
				_, err = io.ReadAll(blob)
			}
			assert.ErrorIs(t, err, component.ErrNotFound)
		})
	}
}

func TestS4PartsAreChecked(t *testing.T) {
	v, out := withBlob(t, "a", "first"), files{}
	require.NoError(t, component.WriteCTF(out, []component.Version{v}, component.SchemaV2))
	first := string(v.Blobs[0].Digest)
	out["blobs/"+strings.Replace(first, ":", ".", 1)].Data = []byte("other")
	repository, err := component.Open(fstest.MapFS(out))
	require.NoError(t, err)
	blob, _, err := repository.Blob(t.Context(), v.Descriptor, first+","+first)
	require.NoError(t, err)
	_, err = io.ReadAll(blob)
	assert.ErrorContains(t, err, "is damaged")
	_, err = manifest(t, component.MediaTypeConfig, layer("text/plain")).Blob(strings.Repeat(first+",", 10_000) + first)
	assert.ErrorContains(t, err, "more than 10000 layers")
}

func TestS6DescriptorLayersAreFinishedTars(t *testing.T) {
	image, err := withBlob(t, "a", "x").Image(component.SchemaV2)
	require.NoError(t, err)
	layer, err := io.ReadAll(image.Layers[0].Reader())
	require.NoError(t, err)
	assert.True(t, bytes.HasSuffix(layer, make([]byte, 1024)), "two empty blocks")
	assert.Equal(t, component.MediaTypeDescriptorTar, image.Layers[0].MediaType)
}

func TestS7AliasesOfRepositoryTypes(t *testing.T) {
	for text, want := range map[string]component.RepositorySpec{
		"{type: oci, baseUrl: b}": component.OCIRegistry{BaseURL: "b"}, "{type: oci/v1, baseUrl: b}": component.OCIRegistry{BaseURL: "b"},
		"{type: OCI, baseUrl: b, subPath: s}": component.OCIRegistry{BaseURL: "b", SubPath: "s"},
		"{type: ctf, filePath: f}":            component.Archive{FilePath: "f"}, "{type: CTF/v1, filePath: f}": component.Archive{FilePath: "f"},
	} {
		got, err := component.ParseRepository(typedOf(t, text))
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	assert.True(t, typedOf(t, "{type: CTF, filePath: f}").Equal(typedOf(t, "{type: CommonTransportFormat/v1, filePath: f}")))
}

// inIndex puts the manifest of the only component version of a CTF into an index, with a platform or without.
func inIndex(t *testing.T, out files, platform *ocispec.Platform) {
	t.Helper()
	var listed struct {
		SchemaVersion int              `json:"schemaVersion"`
		Artifacts     []map[string]any `json:"artifacts"`
	}
	require.NoError(t, json.Unmarshal(out["artifact-index.json"].Data, &listed))
	manifest := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(listed.Artifacts[0]["digest"].(string)), Platform: platform}
	raw, err := json.Marshal(ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{manifest, manifest}})
	require.NoError(t, err)
	listed.Artifacts[0]["digest"] = digest.FromBytes(raw)
	index, err := json.Marshal(listed)
	require.NoError(t, err)
	out["artifact-index.json"] = &fstest.MapFile{Data: index}
	out["blobs/sha256."+digest.FromBytes(raw).Encoded()] = &fstest.MapFile{Data: raw}
}

func TestS10ComponentVersionsInAnIndex(t *testing.T) {
	v := withBlob(t, "a", "hello")
	for _, platform := range []*ocispec.Platform{nil, {OS: "linux", Architecture: "amd64"}} {
		out := files{}
		require.NoError(t, component.WriteCTF(out, []component.Version{v}, component.SchemaV2))
		inIndex(t, out, platform)
		repository, err := component.OpenCTF(fstest.MapFS(out))
		require.NoError(t, err)
		d, err := repository.Component(t.Context(), v.Descriptor.Key())
		if platform != nil {
			assert.ErrorContains(t, err, "an OCI image manifest is needed")
			continue
		}
		require.NoError(t, err)
		data, _ := read(t, repository, d, string(v.Blobs[0].Digest))
		assert.Equal(t, "hello", data)
	}
}
