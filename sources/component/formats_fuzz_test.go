// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"io"
	"testing"
	"testing/fstest"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/interop"
)

// seed adds descriptors that the OCM CLI wrote.
func formatSeed(f *testing.F) {
	f.Helper()
	for _, name := range append(interop.Names(f, "descriptors/*.yaml"), interop.Names(f, "refused/*.yaml")...) {
		for document := range bytes.SplitSeq(interop.Read(f, name), []byte("---\n")) {
			f.Add(document)
		}
	}
}

// interopBlobs returns the blobs of a CTF and of the registry that the OCM CLI wrote.
func interopBlobs(f *testing.F) [][]byte {
	f.Helper()
	var out [][]byte
	for _, name := range append(interop.Names(f, "formats/ctf/blobs/*"), interop.Names(f, "registry/blobs/*")...) {
		out = append(out, interop.Read(f, name))
	}
	return out
}

// FuzzManifest reads manifests of components, and the config that names the descriptor layer.
func FuzzManifest(f *testing.F) {
	d := "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	layer := `{"mediaType":"` + MediaTypeDescriptorTar + `","digest":"` + d + `","size":1}`
	f.Add([]byte(`{"schemaVersion":2,"config":{"mediaType":"`+MediaTypeConfig+`","digest":"`+d+`","size":1},"layers":[`+layer+`]}`),
		[]byte(`{"componentDescriptorLayer":`+layer+`}`))
	for _, blob := range interopBlobs(f) {
		if manifest, err := DecodeManifest(blob); err == nil && manifest.Config.Digest != "" {
			f.Add(blob, []byte(`{"componentDescriptorLayer":`+layer+`}`))
		}
	}
	f.Fuzz(func(t *testing.T, raw, config []byte) {
		manifest, err := DecodeManifest(raw)
		if err != nil {
			return
		}
		found, err := manifest.Descriptor(config)
		if err != nil {
			return
		}
		assert.Contains(t, manifest.Layers, found)
		again, err := manifest.Blob(string(found.Digest))
		require.NoError(t, err)
		assert.Equal(t, []ocispec.Descriptor{found}, again)
	})
}

// FuzzLayer reads descriptor layers in all packings.
func FuzzLayer(f *testing.F) {
	formatSeed(f)
	for _, blob := range interopBlobs(f) {
		if _, err := DecodeLayer(bytes.NewReader(blob)); err == nil {
			f.Add(blob)
		}
	}
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	version := Version{Descriptor: &Descriptor{Schema: SchemaV2, Name: "a", Version: "1"}}
	layer, err := version.descriptorLayer(SchemaV2)
	require.NoError(f, err)
	packed, err := io.ReadAll(layer.Reader())
	require.NoError(f, err)
	f.Add(packed)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if d, err := DecodeLayer(bytes.NewReader(raw)); err == nil {
			assert.NoError(t, d.Validate())
		}
	})
}

// FuzzArchive opens directories with a hostile index and one hostile blob, as CTF and as artifact set, and reads all they hold.
func FuzzArchive(f *testing.F) {
	const hexDigits = "0000000000000000000000000000000000000000000000000000000000000000"
	f.Add([]byte(`{"schemaVersion":1,"artifacts":[{"repository":"component-descriptors/a","tag":"1.build-2","digest":"sha256:`+hexDigits+`"}]}`), []byte("{}"), "../x")
	f.Add([]byte(`{"schemaVersion":2,"annotations":{"software.ocm/main":"sha256:`+hexDigits+`"},"manifests":[{"digest":"sha256:`+hexDigits+`"}]}`), []byte("x"), "x")
	for _, name := range []string{"formats/ctf", "registry"} {
		f.Add(interop.Read(f, name+"/artifact-index.json"), []byte("{}"), "sha256."+hexDigits)
	}
	f.Fuzz(func(t *testing.T, index, blob []byte, reference string) {
		files := fstest.MapFS{"artifact-index.json": {Data: index}, "index.json": {Data: index}, "blobs/sha256." + hexDigits: {Data: blob}, "x": {}}
		if collection, err := OpenCTF(files); err == nil {
			for _, key := range collection.Keys() {
				_, err := collection.Component(t.Context(), key)
				require.Error(t, err, "no content has that digest")
				_, _, err = collection.Blob(t.Context(), &Descriptor{Name: key.Name, Version: key.Version}, reference)
				require.Error(t, err)
			}
		}
		set, err := OpenArtifactSet(files)
		if err != nil {
			return
		}
		if content, err := set.Blob(set.Main.Digest); err == nil {
			_, err = io.ReadAll(content)
			require.Error(t, err, "no content has that digest")
		}
	})
}
