// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func mappings(t *testing.T, text string) map[string]v1alpha1.AnyJSON {
	t.Helper()
	var out map[string]v1alpha1.AnyJSON
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

func values() map[string]any {
	return map[string]any{
		"domain": "example.com",
		"result": "taken",
		"config": map[string]any{"port": int64(8080), "hosts": []any{"a", "b"}},
		"target": map[string]any{"metadata": map[string]any{"name": "t1"}, "spec": map[string]any{"type": "x"}},
	}
}

func TestImport(t *testing.T) {
	tests := []struct{ name, mappings, want string }{
		{"constant", `{"a":"x","b":5,"c":[1],"d":true}`, `{"a":"x","b":5,"c":[1],"d":true}`},
		{"whole import", `{"a":"(( config ))"}`, `{"a":{"port":8080,"hosts":["a","b"]}}`},
		{"field", `{"a":"(( config.port ))"}`, `{"a":8080}`},
		{"text", `{"a":"(( \"https://\" domain \":\" config.port ))"}`, `{"a":"https://example.com:8080"}`},
		{"structure", `{"a":{"url":"(( domain ))","list":["(( config.hosts.[1] ))"]}}`, `{"a":{"url":"example.com","list":["b"]}}`},
		{"target", `{"a":"(( target.metadata.name ))"}`, `{"a":"t1"}`},
		{"name of the document", `{"a":"(( result ))"}`, `{"a":"taken"}`},
		{"own name", `{"domain":"(( domain \".\" ))"}`, `{"domain":"example.com."}`},
		{"nothing", `{"a":null}`, `{"a":null}`},
		{"none", `{}`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ImportMappings(context.Background(), mappings(t, tt.mappings), values(), nil)
			require.NoError(t, err)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(text))
		})
	}
}

func TestLiteralsAreNoExpressions(t *testing.T) {
	for _, value := range []any{
		"(( config ))", "((! config ))", "((!! domain ))", "(( error(\"x\") ))", "plain", "", int64(5), true, nil,
		[]any{"(( domain ))", map[string]any{"<<": "(( merge ))", "<<<": "(( config ))", "a": "(( .domain ))"}},
		map[string]any{"<<!": "a", "((": "b"},
	} {
		made, err := LiteralMapping(value)
		require.NoError(t, err)
		got, err := ImportMappings(context.Background(), map[string]v1alpha1.AnyJSON{"a": made}, values(), nil)
		require.NoError(t, err, "%v", value)
		assert.Equal(t, map[string]any{"a": value}, got)
	}
}

func TestExportSeesExportsTwice(t *testing.T) {
	exports := map[string]any{"url": "u", "exports": "odd"}
	got, err := ExportMappings(context.Background(), mappings(t, `{"a":"(( url ))","b":"(( exports.url ))","c":"(( exports.exports ))"}`), exports, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": "u", "b": "u", "c": "odd"}, got)
}

func TestErrorsNameTheMappingAndHideValues(t *testing.T) {
	_, err := ImportMappings(context.Background(), mappings(t, `{"good":"x","bad":"(( domain + 1 ))"}`), values(), nil)
	require.ErrorContains(t, err, "importDataMappings.bad")
	assert.NotContains(t, err.Error(), "example.com")
	_, err = ExportMappings(context.Background(), mappings(t, `{"bad":"(( missing ))"}`), nil, nil)
	assert.ErrorContains(t, err, "exportDataMappings.bad")
}

func TestMappingsReachNothingOutside(t *testing.T) {
	for _, expression := range []string{`read(\"/etc/hostname\")`, `exec(\"true\")`, `pipe(\"x\", \"cat\")`, `write(\"x\", \"y\")`, `tempfile(\"x\")`,
		`env(\"PATH\")`, `list_files(\"/\")`, `getResource(\"name\", \"x\")`} {
		t.Run(expression, func(t *testing.T) {
			_, err := ImportMappings(context.Background(), mappings(t, `{"a":"(( `+expression+` ))"}`), values(), nil)
			assert.Error(t, err)
		})
	}
}
