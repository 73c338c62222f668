// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// overwritten is a closure in which references to v2.0.0 of the database lead to v9.0.0, which lies in a repository of its own.
type overwritten struct{}

func (overwritten) Follow(name, version string) (string, string) {
	if name == "example.com/db" && version == "v2.0.0" {
		return name, "v9.0.0"
	}
	return name, version
}

func (overwritten) Repository(_, version string) map[string]any {
	if version != "v9.0.0" {
		return nil
	}
	return map[string]any{"type": "OCIRegistry", "baseUrl": "mirror"}
}

func overwrittenInput(source string) Input {
	values := valuesV2()
	other := databaseV2()
	other["component"].(map[string]any)["version"] = "v9.0.0"
	values["components"] = map[string]any{"components": []any{componentV2(), other}}
	return Input{Source: source, Values: values, Closure: overwritten{}, RejectNoValue: true}
}

func TestReferencesLeadWhereOverwritesSay(t *testing.T) {
	got, err := render(t, overwrittenInput(`a: {{ (getComponent "name" "db").component.version }}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":"v9.0.0"}`, got)
}

func TestResourceKeyNamesAnotherRepository(t *testing.T) {
	key := func(ref string) string {
		got, err := render(t, overwrittenInput("a: {{ getResourceKey `"+ref+"` }}"))
		require.NoError(t, err)
		var out struct{ A string }
		require.NoError(t, json.Unmarshal([]byte(got), &out))
		text, err := base64.StdEncoding.DecodeString(out.A)
		require.NoError(t, err)
		return string(text)
	}
	assert.YAMLEq(t, `{component: {name: example.com/db, version: v9.0.0}, resource: {name: chart},
		repositoryContext: {type: OCIRegistry, baseUrl: mirror}}`, key("cd://componentReferences/db/resources/chart"))
	assert.NotContains(t, key("cd://resources/image"), "repositoryContext")
}
