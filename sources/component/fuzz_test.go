// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/interop"
)

// seed adds the descriptors of testdata, and those that the OCM CLI wrote.
func seed(f *testing.F) {
	f.Helper()
	names, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(text)
	}
	for _, name := range append(interop.Names(f, "descriptors/*.yaml"), interop.Names(f, "refused/*.yaml")...) {
		for document := range bytes.SplitSeq(interop.Read(f, name), []byte("---\n")) {
			f.Add(document)
		}
	}
	f.Add([]byte(`{"meta":{"schemaVersion":"v2"},"component":{"name":"a","version":"1","provider":"{\"name\":\"p\"}","labels":[{"name":"l","value":1e30}]}}`))
	f.Add([]byte("apiVersion: ocm.software/v3alpha1\nmetadata: &m {name: a, version: '1'}\nspec: {sources: [{name: x, type: y, access: {type: none}}]}\nextra: *m\n"))
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

// FuzzDescriptor decodes; what is valid has to come back the same from its own schema, and with the same model from the other one.
func FuzzDescriptor(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Decode(text)
		if err != nil {
			return
		}
		for _, schema := range []string{SchemaV2, SchemaV3} {
			written, err := d.Encode(schema)
			require.NoError(t, err)
			back, err := Decode(written)
			require.NoError(t, err, "%s", written)
			twice, err := back.Encode(schema)
			require.NoError(t, err)
			assert.Equal(t, string(written), string(twice))
			assert.Equal(t, d.Resources, back.Resources)
			assert.Equal(t, d.References, back.References)
			assert.Equal(t, d.Key(), back.Key())
		}
		for i := range d.References {
			_, _ = d.References[i].Embedded()
		}
	})
}

// FuzzNormalise checks that normal forms are JSON, and the same in both schemas but for the first algorithm.
func FuzzNormalise(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Decode(text)
		if err != nil {
			return
		}
		other := map[string]string{SchemaV2: SchemaV3, SchemaV3: SchemaV2}[d.Schema]
		written, err := d.Encode(other)
		require.NoError(t, err)
		converted, err := Decode(written)
		require.NoError(t, err)
		for _, algorithm := range []string{NormalisationV1, NormalisationV2, NormalisationV3} {
			normal, err := d.Normalise(algorithm)
			require.NoError(t, err)
			require.True(t, json.Valid(normal), "%s", normal)
			if algorithm == NormalisationV1 {
				continue
			}
			same, err := converted.Normalise(algorithm)
			require.NoError(t, err)
			assert.Equal(t, string(normal), string(same))
		}
	})
}

// FuzzTyped parses accesses and repositories; none may panic, and what parses is equal to itself.
func FuzzTyped(f *testing.F) {
	for _, text := range []string{
		"{type: localBlob/v1, localReference: r, globalAccess: {type: ociArtifact, imageReference: r}}", "{type: helm, helmRepository: h, helmChart: 'c:1'}",
		"{type: wget, url: u}", "{type: OCIRegistry, baseUrl: b, componentNameMapping: sha256-digest}", "{type: fluxSource, sourceRef: {kind: Bucket, name: b}}",
		"{type: git, url: u, repository: r}", "{type: inline, fileSystem: {a: b}}",
	} {
		f.Add([]byte(text))
	}
	for _, name := range []string{"descriptors/statics.yaml", "descriptors/accesses.yaml"} {
		for document := range bytes.SplitSeq(interop.Read(f, name), []byte("---\n")) {
			if d, err := Decode(document); err == nil {
				for _, access := range d.accesses() {
					f.Add([]byte(access.Raw))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		parsed, err := ParseTyped(text)
		if err != nil {
			return
		}
		again, err := ParseTyped(parsed.Raw)
		require.NoError(t, err)
		assert.True(t, parsed.Equal(again))
		if a, err := ParseAccess(parsed); err == nil {
			assert.NotNil(t, a)
		}
		if r, err := ParseRepository(parsed); err == nil {
			assert.NotNil(t, r)
		}
	})
}

// FuzzReference parses references; what parses has a name at every step.
func FuzzReference(f *testing.F) {
	for _, text := range []string{
		"cd://resources/a", "cd://componentReferences/a/resources/b", "resource: {name: a}\nreferencePath: [{name: b, extraIdentity: {c: d}}]", "cd:////",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		reference, err := ParseReference(text)
		if err != nil {
			return
		}
		for _, step := range append(reference.Path, reference.Resource) {
			assert.NotEmpty(t, step["name"])
		}
	})
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
	seed(f)
	for _, blob := range interopBlobs(f) {
		if _, err := DecodeLayer(bytes.NewReader(blob)); err == nil {
			f.Add(blob)
		}
	}
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	version := Version{Descriptor: &Descriptor{Schema: SchemaV2, Name: "a", Version: "1"}}
	layer, err := version.descriptorLayer(SchemaV2)
	require.NoError(f, err)
	content, err := layer.Open()
	require.NoError(f, err)
	packed, err := io.ReadAll(content)
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

// FuzzCertificates reads what a Secret with keys may hold.
func FuzzCertificates(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"))
	f.Add([]byte("-----BEGIN SIGNATURE-----\nSignature Algorithm: RSASSA-PSS\n\nAAAA\n-----END SIGNATURE-----\n"))
	for _, name := range append(interop.Names(f, "keys/*.pub"), interop.Names(f, "keys/*.crt")...) {
		f.Add(interop.Read(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := parsePublicKey(text); err == nil {
			assert.NotNil(t, key)
		}
		value, _, err := SignatureSpec{MediaType: MediaTypePEM, Value: string(text), Algorithm: AlgorithmPSS}.decode()
		if err != nil {
			assert.Empty(t, value)
		}
	})
}
