// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// sample reads a descriptor of testdata.
func sample(t testing.TB, name string) *component.Descriptor {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return decode(t, string(raw))
}

func decode(t testing.TB, text string) *component.Descriptor {
	t.Helper()
	d, err := component.Decode([]byte(text))
	require.NoError(t, err)
	return d
}

func TestDecodeReadsEveryField(t *testing.T) {
	d := sample(t, "v2.yaml")
	assert.Equal(t, component.SchemaV2, d.Schema)
	assert.Equal(t, component.Key{Name: "example.com/landscapes/shop", Version: "1.2.0+build5"}, d.Key())
	assert.Equal(t, "example", d.Provider.Name)
	assert.Equal(t, "2026-03-01T10:00:00Z", d.CreationTime)
	assert.Equal(t, component.Label{Name: "example.com/tier", Signing: true,
		Value: map[string]any{"level": json.Number("3"), "zones": []any{"a", "b"}}}, d.Labels[0])
	effective, err := d.Repository()
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"OCIRegistry","baseUrl":"registry.example.com","subPath":"components","componentNameMapping":"urlPath"}`,
		effective.String())
	assert.Equal(t, component.RelationExternal, d.Resources[1].Relation)
	assert.Equal(t, []component.SourceRef{{IdentitySelector: map[string]string{"name": "code"}}}, d.Resources[1].SourceRefs)
	assert.Equal(t, map[string]any{"size": json.Number("4711")}, d.Resources[1].Extra)
	assert.Equal(t, component.GenericBlobDigest, d.Resources[0].Digest.NormalisationAlgorithm)
	assert.Equal(t, "gitHub", d.Sources[0].Access.Type)
	assert.Equal(t, component.Key{Name: "example.com/landscapes/database", Version: "3.0.0"}, d.References[0].Key())
	assert.Equal(t, "1f2e3d", d.References[0].Digest.Value)
	assert.Equal(t, component.SignatureSpec{Algorithm: component.AlgorithmPKCS1v15, MediaType: component.MediaTypeRSA, Value: "0102",
		Issuer: "CN=example"}, d.Signatures[0].Signature)
	assert.Equal(t, "chart", d.NestedDigests[0].Resources[0].Name)
}

func TestDecodeReadsV3(t *testing.T) {
	d := sample(t, "v3.yaml")
	assert.Equal(t, component.SchemaV3, d.Schema)
	assert.Equal(t, component.Key{Name: "example.com/landscapes/database", Version: "3.0.0"}, d.Key())
	assert.Equal(t, "team", d.Provider.Labels[0].Value)
	assert.Equal(t, []component.SourceRef{{IdentitySelector: map[string]string{"name": "code"}}}, d.Resources[0].SourceRefs)
	assert.Equal(t, "example.com/operator", d.References[0].ComponentName)
}

func TestDecodeNamesFieldAndCure(t *testing.T) {
	const v2 = "meta: {schemaVersion: v2}\ncomponent:\n  name: example.com/a\n  version: 1.0.0\n"
	const v3 = "apiVersion: ocm.software/v3alpha1\nmetadata: {name: example.com/a, version: 1.0.0}\n"
	for name, test := range map[string]struct{ text, want string }{
		"no YAML":              {"{", "unreadable"},
		"a list":               {"[]", "must be an object, not a list"},
		"no schema":            {"a: b", "neither meta.schemaVersion: v2 nor apiVersion: ocm.software/v3alpha1"},
		"other schema":         {"meta: {schemaVersion: v1}", "meta.schemaVersion v1 is unknown; use v2"},
		"v3 under meta":        {"meta: {schemaVersion: ocm.software/v3alpha1}", "start with apiVersion"},
		"other apiVersion":     {"apiVersion: v9", `apiVersion "v9" is unknown`},
		"other kind":           {"apiVersion: ocm.software/v3alpha1\nkind: Pod", "kind is Pod"},
		"no name":              {"meta: {schemaVersion: v2}\ncomponent: {version: 1.0.0}", "component.name is missing"},
		"no version in v3":     {"apiVersion: ocm.software/v3alpha1\nmetadata: {name: example.com/a}", "metadata.version is missing"},
		"number as version":    {"meta: {schemaVersion: v2}\ncomponent: {name: example.com/a, version: 1.5}", `component.version must be a text, but YAML reads it as 1.5; put it into quotes`},
		"name leaves place":    {"meta: {schemaVersion: v2}\ncomponent: {name: ../a, version: 1.0.0}", `component.name is "../a"`},
		"version leaves place": {"meta: {schemaVersion: v2}\ncomponent: {name: example.com/a, version: ../1}", `component.version is "../1"`},
		"resources no list":    {v2 + "  resources: {}", "component.resources must be a list, not an object"},
		"resource no object":   {v2 + "  resources: [a]", "component.resources[0] must be an object, not a text"},
		"resource no name":     {v2 + "  resources: [{type: t, access: {type: none}}]", "component.resources[0].name is missing"},
		"resource no type":     {v2 + "  resources: [{name: a, access: {type: none}}]", "component.resources[0].type is missing"},
		"resource no access":   {v3 + "spec: {resources: [{name: a, type: t}]}", "spec.resources[0].access is missing"},
		"access no type":       {v2 + "  resources: [{name: a, type: t, access: {url: u}}]", "component.resources[0].access is unusable: field type is missing"},
		"relation":             {v2 + "  resources: [{name: a, type: t, relation: near, access: {type: none}}]", `relation is "near"; use local or external`},
		"twice": {v2 + "  resources: [{name: a, type: t, access: {type: none}}, {name: a, type: t, access: {type: none}}]",
			"component.resources[1] has the same name, version and extraIdentity as component.resources[0]"},
		"name in extraIdentity": {v2 + "  resources: [{name: a, type: t, access: {type: none}, extraIdentity: {name: b}}]", "extraIdentity.name is not allowed"},
		"number in identity":    {v2 + "  resources: [{name: a, type: t, access: {type: none}, extraIdentity: {zone: 1}}]", `extraIdentity.zone must be a text, but YAML reads it as 1; put it into quotes`},
		"half a digest":         {v2 + "  resources: [{name: a, type: t, access: {type: none}, digest: {value: aa}}]", "digest.hashAlgorithm is missing"},
		"reference to nothing":  {v2 + "  componentReferences: [{name: a}]", "component.componentReferences[0].componentName is missing"},
		"label twice":           {v2 + "  labels: [{name: l, value: 1}, {name: l, value: 2}]", `component.labels[1].name is "l" for the second time`},
		"signing no boolean":    {v2 + "  labels: [{name: l, value: 1, signing: perhaps}]", "component.labels[0].signing must be true or false"},
		"signature twice":       {v2 + "signatures: [{name: s}, {name: s}]", `signatures[1].name is "s" for the second time`},
		"source no type":        {v3 + "spec: {sources: [{name: a}]}", "spec.sources[0].type is missing"},
		"context no type":       {v2 + "  repositoryContexts: [{baseUrl: a}]", "component.repositoryContexts[0] is unusable"},
		"too large":             {strings.Repeat("#", component.MaxDescriptor+1), "split the component"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := component.Decode([]byte(test.text))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestDecodeListsProblemsUpToALimit(t *testing.T) {
	text := "meta: {schemaVersion: v2}\ncomponent: {name: example.com/a, version: 1.0.0, resources: [" + strings.Repeat("{}, ", 50) + "{}]}"
	_, err := component.Decode([]byte(text))
	assert.ErrorContains(t, err, "component.resources[0].name is missing")
	assert.ErrorContains(t, err, "more problems")
	assert.Less(t, len(err.Error()), 4000)
}

func TestProviderForms(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want component.Provider
	}{
		"name":           {`provider: acme`, component.Provider{Name: "acme"}},
		"none":           {``, component.Provider{}},
		"object":         {`provider: {name: acme, labels: [{name: l, value: v}]}`, component.Provider{Name: "acme", Labels: []component.Label{{Name: "l", Value: "v"}}}},
		"object in text": {`provider: '{"name": "acme", "labels": [{"name": "l", "value": "v"}]}'`, component.Provider{Name: "acme", Labels: []component.Label{{Name: "l", Value: "v"}}}},
		"a brace":        {`provider: '{acme'`, component.Provider{Name: "{acme"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := decode(t, "meta: {schemaVersion: v2}\ncomponent:\n  name: example.com/a\n  version: 1.0.0\n  "+test.text)
			assert.Equal(t, test.want, d.Provider)
			assert.Equal(t, test.want, again(t, d, component.SchemaV2).Provider)
			assert.Equal(t, test.want, again(t, d, component.SchemaV3).Provider)
		})
	}
}

// again encodes and decodes.
func again(t testing.TB, d *component.Descriptor, schema string) *component.Descriptor {
	t.Helper()
	text, err := d.Encode(schema)
	require.NoError(t, err)
	return decode(t, string(text))
}

func TestEncodeKeepsEverythingInTheSameSchema(t *testing.T) {
	for _, name := range []string{"v2.yaml", "v3.yaml"} {
		d := sample(t, name)
		out := again(t, d, d.Schema)
		assert.Equal(t, d.View(d.Schema), out.View(d.Schema), name)
	}
}

func TestEncodeIsReproducible(t *testing.T) {
	for _, schema := range []string{component.SchemaV2, component.SchemaV3} {
		first, err := sample(t, "v2.yaml").Encode(schema)
		require.NoError(t, err)
		second, err := decode(t, string(first)).Encode(schema)
		require.NoError(t, err)
		assert.Equal(t, string(first), string(second))
	}
}

func TestConversionsKeepTheModel(t *testing.T) {
	for from, to := range map[string]string{"v2.yaml": component.SchemaV3, "v3.yaml": component.SchemaV2} {
		d := sample(t, from)
		converted := again(t, d, to)
		require.Equal(t, to, converted.Schema)
		for _, schema := range []string{component.SchemaV2, component.SchemaV3} {
			bare := again(t, again(t, d, to), d.Schema)
			assert.Equal(t, bare.View(schema), converted.View(schema), "%s as %s", from, schema)
		}
		assert.Equal(t, d.Resources, converted.Resources)
		assert.Equal(t, d.References, converted.References)
		assert.Equal(t, d.Signatures, converted.Signatures)
	}
}

func TestUnknownFieldsStayInTheirSchema(t *testing.T) {
	d := sample(t, "v3.yaml")
	assert.Equal(t, map[string]any{"kept": "here"}, d.View(component.SchemaV3)["metadata"].(map[string]any)["annotations"])
	assert.NotContains(t, d.View(component.SchemaV2)["component"], "annotations")
	assert.Equal(t, "v2", sample(t, "v2.yaml").View(component.SchemaV2)["meta"].(map[string]any)["configuredSchemaVersion"])
}

func TestEncodeRefusesUnknownSchemas(t *testing.T) {
	_, err := sample(t, "v2.yaml").Encode("v4")
	assert.ErrorContains(t, err, `schema "v4" of component descriptors is unknown; use v2 or ocm.software/v3alpha1`)
	assert.Nil(t, sample(t, "v2.yaml").View("v4"))
}

func TestViewsAreWhatTemplatesExpect(t *testing.T) {
	d := sample(t, "v2.yaml")
	v2 := d.View(component.SchemaV2)["component"].(map[string]any)
	assert.Equal(t, "example", v2["provider"])
	assert.Equal(t, "image", v2["resources"].([]any)[1].(map[string]any)["name"])
	assert.Equal(t, "database", v2["componentReferences"].([]any)[0].(map[string]any)["name"])
	assert.Equal(t, int64(3), v2["labels"].([]any)[0].(map[string]any)["value"].(map[string]any)["level"])
	v3 := d.View(component.SchemaV3)
	assert.Equal(t, "ComponentVersion", v3["kind"])
	assert.Equal(t, map[string]any{"name": "example"}, v3["metadata"].(map[string]any)["provider"])
	assert.Equal(t, "code", v3["spec"].(map[string]any)["resources"].([]any)[1].(map[string]any)["srcRefs"].([]any)[0].(map[string]any)["identitySelector"].(map[string]any)["name"])
}

func TestViewsMayBeChanged(t *testing.T) {
	d := sample(t, "v2.yaml")
	before := d.View(component.SchemaV2)
	changed := d.View(component.SchemaV2)["component"].(map[string]any)
	delete(changed["labels"].([]any)[0].(map[string]any)["value"].(map[string]any), "level")
	changed["resources"].([]any)[0].(map[string]any)["access"].(map[string]any)["type"] = "other"
	assert.Equal(t, before, d.View(component.SchemaV2))
}

func TestFindResource(t *testing.T) {
	d := sample(t, "v2.yaml")
	for name, test := range map[string]struct {
		wanted map[string]string
		want   *component.Resource
	}{
		"by name":             {map[string]string{"name": "blueprint"}, &d.Resources[0]},
		"the first":           {map[string]string{"name": "image"}, &d.Resources[1]},
		"by extra identity":   {map[string]string{"name": "image", "architecture": "arm64"}, &d.Resources[2]},
		"extra identity only": {map[string]string{"architecture": "arm64"}, &d.Resources[2]},
		"with version":        {map[string]string{"name": "blueprint", "version": "1.2.0"}, &d.Resources[0]},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := d.FindResource(test.wanted)
			require.NoError(t, err)
			assert.Same(t, test.want, found)
		})
	}
	for _, wanted := range []map[string]string{{"name": "x"}, {"name": "image", "version": "v9"}, {"name": "image", "os": "linux"}} {
		_, err := d.FindResource(wanted)
		assert.ErrorIs(t, err, component.ErrNotFound)
		assert.ErrorContains(t, err, "it has: blueprint, image, image")
	}
}

func TestFindReference(t *testing.T) {
	d := sample(t, "v2.yaml")
	reference, err := d.FindReference(map[string]string{"name": "database", "role": "primary"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"name": "database", "role": "primary"}, reference.Identity())
	_, err = d.FindReference(map[string]string{"name": "cache"})
	assert.ErrorContains(t, err, `no reference with name "cache"; it has: database`)
}

func TestEmbedded(t *testing.T) {
	embedded := map[string]any{"meta": map[string]any{"schemaVersion": "v2"},
		"component": map[string]any{"name": "example.com/b", "version": "1.0.0"}}
	text, err := json.Marshal(embedded)
	require.NoError(t, err)
	reference := component.Reference{Element: component.Element{Name: "b", Version: "1.0.0"}, ComponentName: "example.com/b"}
	for name, value := range map[string]any{"object": embedded, "text": string(text)} {
		t.Run(name, func(t *testing.T) {
			r := reference
			r.Labels = []component.Label{{Name: component.LabelEmbedded, Value: value}}
			found, err := r.Embedded()
			require.NoError(t, err)
			assert.Equal(t, r.Key(), found.Key())
		})
	}
	none, err := reference.Embedded()
	require.NoError(t, err)
	assert.Nil(t, none)
	reference.Labels = []component.Label{{Name: component.LabelEmbedded, Value: embedded}}
	reference.Version = "2.0.0"
	_, err = reference.Embedded()
	assert.ErrorContains(t, err, "holds component example.com/b:1.0.0, but the reference is to example.com/b:2.0.0")
}
