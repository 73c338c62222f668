// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// overwritten is a closure in which references to v2.0.0 of the database lead to v9.0.0, which lies in a repository of its own.
var overwritten = &Closure{
	Followed:     map[string][2]string{ComponentKey("example.com/db", "v2.0.0"): {"example.com/db", "v9.0.0"}},
	Repositories: map[string]map[string]any{ComponentKey("example.com/db", "v9.0.0"): {"type": "OCIRegistry", "baseUrl": "mirror"}},
}

func overwrittenInput(source string) Input {
	values := valuesV2()
	other := databaseV2()
	other["component"].(map[string]any)["version"] = "v9.0.0"
	values["components"] = map[string]any{"components": []any{componentV2(), other}}
	return Input{Source: source, Values: values, Closure: overwritten, RejectNoValue: true}
}

func TestReferencesLeadWhereOverwritesSay(t *testing.T) {
	got, err := render(t, overwrittenInput(`a: {{ (getComponent "name" "db").component.version }}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":"v9.0.0"}`, got)
}

// keyOf renders the key of a resource.
func keyOf(t *testing.T, in func(source string) Input, ref string) string {
	t.Helper()
	got, err := render(t, in("a: {{ getResourceKey `"+ref+"` }}"))
	require.NoError(t, err)
	var out struct{ A string }
	require.NoError(t, json.Unmarshal([]byte(got), &out))
	text, err := base64.StdEncoding.DecodeString(out.A)
	require.NoError(t, err)
	return string(text)
}

func TestResourceKeyNamesAnotherRepository(t *testing.T) {
	key := func(ref string) string { return keyOf(t, overwrittenInput, ref) }
	assert.YAMLEq(t, `{component: {name: example.com/db, version: v9.0.0}, resource: {name: chart},
		repositoryContext: {type: OCIRegistry, baseUrl: mirror}}`, key("cd://componentReferences/db/resources/chart"))
	assert.NotContains(t, key("cd://resources/image"), "repositoryContext")
}

func TestResourceKeyCarriesTheDigest(t *testing.T) {
	digest := func(algorithm string) map[string]any {
		return map[string]any{"hashAlgorithm": algorithm, "normalisationAlgorithm": "genericBlobDigest/v1", "value": "abc"}
	}
	resources := []any{
		map[string]any{"name": "sealed", "digest": digest("SHA-256")},
		map[string]any{"name": "open", "digest": digest("NO-DIGEST")},
	}
	name := map[string]any{"name": "example.com/shop", "version": "v1.0.0"}
	for shape, cd := range map[string]map[string]any{
		"v2": {"component": map[string]any{"name": name["name"], "version": name["version"], "resources": resources}},
		"v3": {"metadata": name, "spec": map[string]any{"resources": resources}},
	} {
		t.Run(shape, func(t *testing.T) {
			in := func(source string) Input { return Input{Source: source, Values: map[string]any{"cd": cd}} }
			const component = "component: {name: example.com/shop, version: v1.0.0}"
			assert.YAMLEq(t, "{"+component+`, resource: {name: sealed},
				digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: abc}}`, keyOf(t, in, "cd://resources/sealed"))
			assert.YAMLEq(t, "{"+component+", resource: {name: open}}", keyOf(t, in, "cd://resources/open"))
		})
	}
}
