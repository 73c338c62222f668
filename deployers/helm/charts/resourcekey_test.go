// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

const validKey = "component: {name: example.com/shop, version: 1.0.0}\nresource: {name: chart, flavour: small}\n"

func TestParseResourceKey(t *testing.T) {
	key, err := parseResourceKey(encoded(validKey + "repositoryContext: {type: OCIRegistry, baseUrl: registry.example.com}\nother: ignored\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"name": "chart", "flavour": "small"}, key.Resource)
	reference := key.definition().Reference
	require.NotNil(t, reference)
	assert.Equal(t, "example.com/shop", reference.ComponentName)
	assert.Equal(t, "1.0.0", reference.Version)
	assert.JSONEq(t, `{"type": "OCIRegistry", "baseUrl": "registry.example.com"}`, string(reference.RepositoryContext.RawMessage))
}

func TestParseResourceKeyRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no base64":   "component:",
		"nothing":     "",
		"no YAML":     encoded("{"),
		"no object":   encoded("[]"),
		"no version":  encoded("component: {name: a}\nresource: {name: b}"),
		"no resource": encoded("component: {name: a, version: b}"),
		"no name":     encoded("component: {name: a, version: b}\nresource: {flavour: small}"),
		"wrong type":  encoded("component: {name: a, version: b}\nresource: {name: [b]}"),
		"no digest":   encoded("digest: abc\n" + validKey),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseResourceKey(text)
			require.ErrorIs(t, err, errResourceKey)
		})
	}
}

func TestResourceOfAKeyWithADigest(t *testing.T) {
	sha256 := func(value string) *component.DigestSpec {
		return &component.DigestSpec{HashAlgorithm: component.HashSHA256, NormalisationAlgorithm: component.GenericBlobDigest, Value: value}
	}
	excluded := &component.DigestSpec{HashAlgorithm: component.NoDigest, NormalisationAlgorithm: component.ExcludeFromSignature, Value: component.NoDigest}
	for name, tc := range map[string]struct {
		found, inKey, want *component.DigestSpec
		replaced           bool
	}{
		"the same":             {sha256("ab"), sha256("ab"), sha256("ab"), false},
		"in other letters":     {sha256("AB"), sha256("ab"), sha256("ab"), false},
		"another":              {sha256("cd"), sha256("ab"), nil, true},
		"no longer covered":    {excluded, sha256("ab"), nil, true},
		"none in descriptor":   {nil, sha256("ab"), sha256("ab"), false},
		"none in the key":      {sha256("ab"), nil, sha256("ab"), false},
		"excluded in the key":  {sha256("ab"), excluded, sha256("ab"), false},
		"empty one in the key": {sha256("ab"), &component.DigestSpec{}, nil, true},
		"none":                 {nil, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			key := &resourceKey{Resource: map[string]string{"name": "chart"}, Digest: tc.inKey}
			d := &component.Descriptor{Name: "example.com/shop", Version: "1.0.0", Resources: []component.Resource{
				{Element: component.Element{Name: "chart"}, Digest: tc.found},
			}}
			found, err := key.find(d)
			if tc.replaced {
				var replaced *replacedError
				require.ErrorAs(t, err, &replaced)
				assert.ErrorContains(t, err, `resource "chart" of component example.com/shop:1.0.0 has the digest `+tc.found.Value)
				assert.ErrorContains(t, err, "with the digest "+tc.inKey.Value)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, found.Digest)
			assert.Equal(t, tc.found, d.Resources[0].Digest, "the descriptor is shared")
		})
	}
}

func TestComponentWrittenIntoAKey(t *testing.T) {
	descriptor := "meta: {schemaVersion: v2}\ncomponent: {name: example.com/shop, version: 1.0.0, provider: a, resources: [], sources: [], componentReferences: [], repositoryContexts: []}"
	inline := func(files string) string {
		return "repositoryContext: {type: inline, fileSystem: " + files + "}\n"
	}
	file := func(text string) string { return "{component-descriptor.yaml: '" + text + "'}" }
	flow := strings.NewReplacer("meta: ", "{meta: ", "\n", ", ").Replace(descriptor) + "}"
	for name, tc := range map[string]struct {
		repository string
		isWritten  bool
	}{
		"written":           {inline(file(flow)), true},
		"no repository":     {"", false},
		"other repository":  {"repositoryContext: {type: OCIRegistry, baseUrl: a}\n", false},
		"other component":   {inline(file(strings.ReplaceAll(flow, "1.0.0", "2.0.0"))), false},
		"with other files":  {inline(strings.TrimSuffix(file(flow), "}") + ", a: b}"), false},
		"with other blobs":  {strings.Replace(inline(file(flow)), "type:", "blobFs: {}, type:", 1), false},
		"unreadable":        {inline(file("{")), false},
		"files of no texts": {inline("{a: [b]}"), false},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := parseResourceKey(encoded(validKey + tc.repository))
			require.NoError(t, err)
			assert.Equal(t, tc.isWritten, key.definition().Inline != nil)
			assert.Equal(t, tc.isWritten, key.definition().Reference == nil)
		})
	}
}

func FuzzResourceKey(f *testing.F) {
	for _, seed := range []string{validKey, validKey + "repositoryContext: {type: inline, fileSystem: {component-descriptor.yaml: '{}'}}", "a: &a b\nc: *a", "{"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := parseResourceKey(base64.StdEncoding.EncodeToString(text))
		if err != nil {
			return
		}
		definition := key.definition()
		if (definition.Inline == nil) == (definition.Reference == nil) {
			t.Fatal("not exactly one definition")
		}
		if key.Resource["name"] == "" {
			t.Fatal("a key without the name of a resource")
		}
	})
}
