// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

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
				for _, access := range d.Accesses() {
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
