// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func validator(resources map[string]string) *Validator {
	local := map[string]v1alpha1.AnyJSON{}
	for name, text := range map[string]string{
		"port":  `{"type":"integer","maximum":65535}`,
		"pair":  `{"definitions":{"word":{"type":"string"}},"type":"array","items":{"$ref":"#/definitions/word"}}`,
		"tree":  `{"type":"object","properties":{"left":{"$ref":"#"},"name":{"type":"string"}}}`,
		"loopA": `{"$ref":"local://loopB"}`, "loopB": `{"items":[{"$ref":"local://loopA"}]}`,
		"under_score": `{"type":"boolean"}`,
	} {
		local[name] = v1alpha1.NewAnyJSON([]byte(text))
	}
	return New(Options{
		LocalTypes: local,
		Blueprint: fstest.MapFS{
			"schemas/host.json": {Data: []byte(`{"type":"object","required":["port"],"properties":{"port":{"$ref":"local://port"}}}`)},
			"bad.json":          {Data: []byte(`type: string`)},
			"typo.json":         {Data: []byte(`{"items":{"type":"strng"}}`)},
			"loose.json":        {Data: []byte(`{"definitions":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#definitions/a"}}}`)},
		},
		Resource: func(_ context.Context, uri string) ([]byte, error) {
			text, ok := resources[uri]
			if !ok {
				return nil, errors.New("no such resource")
			}
			return []byte(text), nil
		},
	})
}

var resources = map[string]string{
	"cd://resources/own":                                           `{"type":"string"}`,
	"cd://componentReferences/a/resources/s":                       `{"definitions":{"provider":{"type":"integer"}},"$ref":"cd://componentReferences/b/resources/t"}`,
	"cd://componentReferences/a/componentReferences/b/resources/t": `{"type":"boolean"}`,
	"cd://resources/local":                                         `{"$ref":"local://port"}`,
}

func value(t *testing.T, text string) any {
	t.Helper()
	var out any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

func TestValidate(t *testing.T) {
	tests := []struct{ name, schema, value, want string }{
		{"matches", `{"type":"string"}`, `"x"`, ""},
		{"no schema", ``, `"x"`, ""},
		{"true", `true`, `"x"`, ""},
		{"type", `{"type":"string"}`, `5`, "(root): must be of type string, but is of type number"},
		{"nested", `{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",1]}`, "a.1: must be of type string"},
		{"required", `{"required":["a","b"]}`, `{"a":1}`, "(root): misses b"},
		{"enum", `{"enum":["a","b"]}`, `"c"`, "must be one of a, b"},
		{"pattern", `{"pattern":"^a+$"}`, `"c"`, "must match the pattern ^a+$"},
		{"format", `{"format":"email"}`, `"c"`, "must be in the format email"},
		{"minimum", `{"minimum":3}`, `1`, "must be at least 3"},
		{"additional", `{"additionalProperties":false}`, `{"x":1}`, "must not have the property x"},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":3,"exclusiveMinimum":true}`, `3`, "must be more than 3"},
		{"draft 4 without saying so", `{"minimum":3,"exclusiveMinimum":true}`, `3`, "must be more than 3"},
		{"draft 6", `{"$schema":"http://json-schema.org/draft-06/schema#","const":3}`, `4`, "must be 3"},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","if":{"type":"string"},"then":{"minLength":2}}`, `"a"`, "at least 2 characters"},
		{"draft 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","dependentRequired":{"a":["b"]}}`, `{"a":1}`, "breaks the rule dependentRequired"},
		{"draft 2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}]}`, `[1]`, "0: must be of type string"},
		{"local", `{"$ref":"local://port"}`, `70000`, "must be at most 65535"},
		{"local with underscore", `{"$ref":"local://under_score"}`, `1`, "must be of type boolean"},
		{"local with own reference", `{"$ref":"local://pair"}`, `[1]`, "0: must be of type string"},
		{"local fragment", `{"$ref":"local://pair#/definitions/word"}`, `1`, "must be of type string"},
		{"fragment without slash", `{"$ref":"local://pair#definitions/word"}`, `1`, "must be of type string"},
		{"own path without slash", `{"definitions":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#definitions/a"}}}`, `{"x":1}`, "x: must be of type string"},
		{"path without slash of a file", `{"$ref":"blueprint://loose.json"}`, `{"x":1}`, "x: must be of type string"},
		{"path without slash in a part with an identifier", `{"definitions":{"b":{"$id":"b","definitions":{"a":{"type":"string"}},"items":{"$ref":"#definitions/a"}}},"$ref":"#/definitions/b"}`, `[1]`, "0: must be of type string"},
		{"path without slash to nothing is the document", `{"definitions":{},"type":"object","properties":{"x":{"$ref":"#definition/a"}}}`, `{"x":1}`, "x: must be of type object"},
		{"name of a part in draft 7", `{"definitions":{"a":{"$id":"#word","type":"string"}},"properties":{"x":{"$ref":"#word"}}}`, `{"x":1}`, "x: must be of type string"},
		{"name of a part in draft 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$defs":{"a":{"$anchor":"word","type":"string"}},"properties":{"x":{"$ref":"#word"}}}`, `{"x":1}`, "x: must be of type string"},
		{"recursive type", `{"$ref":"local://tree"}`, `{"left":{"left":{"name":1}}}`, "left.left.name: must be of type string"},
		{"own definitions", `{"definitions":{"a":{"type":"string"}},"$ref":"#/definitions/a"}`, `1`, "must be of type string"},
		{"file", `{"$ref":"blueprint://schemas/host.json"}`, `{"port":70000}`, "port: must be at most 65535"},
		{"file with slash", `{"$ref":"blueprint:///schemas/host.json"}`, `{}`, "misses port"},
		{"resource", `{"$ref":"cd://resources/own"}`, `1`, "must be of type string"},
		{"resource of resource", `{"$ref":"cd://componentReferences/a/resources/s"}`, `1`, "must be of type boolean"},
		{"reference in list", `{"anyOf":[{"$ref":"local://port"},{"type":"string"}]}`, `true`, "must be of type string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := validator(resources).Validate([]byte(tt.schema), value(t, tt.value))
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			var failed *Error
			require.ErrorAs(t, err, &failed)
			assert.ErrorContains(t, err, tt.want)
			assert.Equal(t, ReasonFailed, failed.Reason())
		})
	}
}

func TestValidateRefusesSchemas(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"no JSON", `type: string`, "it is not JSON"},
		{"no schema", `{"type":"nothing"}`, "cannot be used: type: must be one of array, boolean, integer, null, number, object, string"},
		{"no schema inside", `{"properties":{"a":{"type":"strng"}}}`, "cannot be used: properties.a.type: must be one of array, boolean, integer, null, number, object, string; did you mean \"string\"?"},
		{"no schema in a file", `{"$ref":"blueprint://typo.json"}`, "cannot be used: blueprint://typo.json: items.type: must be one of array"},
		{"required of draft 3", `{"properties":{"a":{"required":true}}}`, "properties.a.required: must be of type array, but is of type boolean"},
		{"unknown path", `{"$ref":"#/definitions/nope"}`, `in "#/definitions/nope" not found`},
		{"pattern", `{"pattern":"("}`, "pattern"},
		{"cycle", `{"$ref":"local://loopA"}`, "cyclic references detected: local://loopA → local://loopB → local://loopA"},
		{"unknown local type", `{"$ref":"local://nope"}`, "no such entry in localTypes"},
		{"local path", `{"$ref":"local://a/b"}`, "no path"},
		{"unknown file", `{"$ref":"blueprint://nope.json"}`, "no such file"},
		{"file out of the blueprint", `{"$ref":"blueprint://../../etc/passwd"}`, "no such file"},
		{"file that is not JSON", `{"$ref":"blueprint://bad.json"}`, "it is not JSON"},
		{"unknown resource", `{"$ref":"cd://resources/nope"}`, "no such resource"},
		{"local type in a component", `{"$ref":"cd://resources/local"}`, "can refer to cd:// only"},
		{"unknown fragment", `{"$ref":"local://pair#/definitions/nope"}`, "cannot be used"},
		{"file scheme", `{"$ref":"file:///etc/passwd"}`, "not followed"},
		{"plain path", `{"$ref":"/etc/passwd"}`, "not followed"},
		{"http", `{"$ref":"http://127.0.0.1:1/x"}`, "not followed"},
		{"https", `{"$ref":"https://example.com/x"}`, "not followed"},
		{"metaschema", `{"$schema":"http://example.com/x"}`, "not followed"},
		{"itself", `{"$ref":"#"}`, "refers to itself without end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := validator(resources).Validate([]byte(tt.schema), "x")
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "schema://")
		})
	}
}

func TestWarningsNameReferencesThatAreNoValidOnes(t *testing.T) {
	files := fstest.MapFS{"loose.json": {Data: []byte(`{"items":{"$ref":"#nothing"}}`)}}
	found := Warnings(Options{Blueprint: files}, []byte(`{"definitions":{"a":{},"b":{"$id":"#b"}},
		"allOf":[{"$ref":"#definitions/a"},{"$ref":"#/definitions/a"},{"$ref":"#b"},{"$ref":"#"},{"$ref":"blueprint://loose.json"}]}`))
	assert.Equal(t, []string{
		`the reference "#definitions/a" has no slash and is read as "#/definitions/a"; write that`,
		`the reference "#nothing" in blueprint://loose.json leads nowhere and is read as "#", the whole document; write #/ and the path to a definition`,
	}, found)
}

func TestErrorsNeverShowData(t *testing.T) {
	for _, schema := range []string{`{"type":"integer"}`, `{"pattern":"^x$"}`, `{"enum":["a"]}`, `{"const":"a"}`, `{"format":"email"}`,
		`{"not":{"type":"string"}}`, `{"maxLength":2}`, `{"oneOf":[{"minLength":1},{"minLength":2}]}`, `false`} {
		err := validator(nil).Validate([]byte(schema), "secret-value")
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "secret-value")
	}
}

func TestLongErrorsAreCut(t *testing.T) {
	items := make([]any, 1000)
	err := validator(nil).Validate([]byte(`{"items":{"type":"string"}}`), items)
	require.ErrorContains(t, err, "and more")
	assert.Less(t, len(err.Error()), 4000)
}

func TestComponentsDoNotShareSchemas(t *testing.T) {
	shared := New(Options{LocalTypes: map[string]v1alpha1.AnyJSON{"port": v1alpha1.NewAnyJSON([]byte(`{"type":"integer"}`))}})
	component := func(kind string) *Validator {
		return shared.With(func(context.Context, string) ([]byte, error) { return []byte(`{"type":"` + kind + `"}`), nil })
	}
	text, number := component("string"), component("number")
	own := []byte(`{"$ref":"cd://resources/own"}`)
	require.NoError(t, text.Validate(own, "a"))
	require.NoError(t, number.Validate(own, 1.5))
	assert.ErrorContains(t, text.Validate(own, 1.5), "must be of type string")
	assert.ErrorContains(t, number.Validate(own, "a"), "must be of type number")
	assert.ErrorContains(t, shared.Validate(own, "a"), "there is no component descriptor")
	require.NoError(t, text.Validate([]byte(`{"$ref":"local://port"}`), 1))
}
