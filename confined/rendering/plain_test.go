// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

// importing returns a blueprint with one data import of a schema, and more as it is given.
func importing(t *testing.T, schema, more string) *render.Environment {
	t.Helper()
	files := fstest.MapFS{model.FileName: {Data: []byte(`
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: value, type: data, schema: ` + schema + `}
` + more)}}
	blueprint, err := model.Load(files)
	require.NoError(t, err)
	return &render.Environment{Blueprint: blueprint, Files: files, Namespace: "ns", Schemas: schemas(blueprint)}
}

func schemas(blueprint *model.Blueprint) *schema.Validator {
	return schema.New(schema.Options{LocalTypes: blueprint.LocalTypes})
}

// numbers is a schema that compares a value, or each in a list, with so many numbers.
func numbers(count int) string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf("1.0e+%d", i+22))
	}
	return "{enum: [" + strings.Join(all, ",") + "], items: {enum: [" + all[0] + "]}}"
}

// others are so many more imports, each after a line break.
func others(count int, schema string) string {
	var out strings.Builder
	for i := range count {
		fmt.Fprintf(&out, "\n- {name: other%d, type: data, required: false, schema: %s}", i, schema)
	}
	return out.String()
}

func TestWhatRunsInTheOwnProcess(t *testing.T) {
	const anything = `{type: [object, "null"], properties: {a: {type: string, maxLength: 3}, b: {items: {enum: [1, 2]}}}, additionalProperties: false, required: [a]}`
	mapping := map[string]v1alpha1.AnyJSON{"value": v1alpha1.NewAnyJSON([]byte(`"(( 1 ))"`))}
	for name, c := range map[string]struct {
		schema, more string
		value        any
		mappings     map[string]v1alpha1.AnyJSON
		plain        bool
	}{
		"plain":                        {schema: anything, value: map[string]any{"a": "x"}, plain: true},
		"nothing is allowed":           {schema: `false`, value: 1.0, plain: true},
		"mapping":                      {schema: anything, mappings: mapping},
		"import execution":             {schema: anything, more: `importExecutions: [{name: x, type: GoTemplate, template: ""}]`},
		"pattern":                      {schema: `{type: string, pattern: "(a*)*b"}`, value: "x"},
		"pattern below a property":     {schema: `{properties: {a: {items: {pattern: x}}}}`},
		"pattern of properties":        {schema: `{additionalProperties: {patternProperties: {x: true}}}`},
		"format":                       {schema: `{format: regex}`, value: "x"},
		"reference":                    {schema: `{properties: {a: {$ref: "#"}}}`},
		"combination":                  {schema: `{allOf: [{type: string}]}`},
		"unique items":                 {schema: `{uniqueItems: true}`},
		"several schemas of items":     {schema: `{items: [{type: string}]}`},
		"unknown keyword":              {schema: `{x: 1}`},
		"long schema":                  {schema: `{description: ` + strings.Repeat("x", maxPlainSchema) + `}`},
		"long text":                    {schema: `{type: string}`, value: strings.Repeat("x", 2*maxPlainValue*textUnit)},
		"large list":                   {schema: `{}`, value: make([]any, 2*maxPlainValue)},
		"long keys":                    {schema: `{}`, value: map[string]any{strings.Repeat("x", 2*maxPlainValue*textUnit): nil}},
		"large value of another":       {schema: `{}`, more: "- {name: other, type: data, schema: {}, required: false, default: {value: " + strings.Repeat("x", 2*maxPlainValue) + "}}"},
		"pattern of a conditional one": {schema: `{}`, more: "- {name: other, type: data, schema: {}, required: false, imports: [{name: third, type: data, schema: {pattern: x}}]}"},
		"reference in a default":       {schema: `{default: [{$ref: "blueprint://x"}]}`},
		"reference among values":       {schema: `{properties: {a: {enum: [{b: {$ref: "cd://resources/x"}}]}}}`},
		"list of many numbers":         {schema: numbers(250), value: make([]any, 500)},
		"many imports":                 {schema: `{}`, more: others(1000, `{}`)},
		"many conditional imports":     {schema: `{}`, more: "- {name: other, type: data, schema: {}, required: false, imports: [" + strings.ReplaceAll(others(1000, `{}`), "\n- ", ",")[1:] + "]}"},
		"many long schemas":            {schema: `{}`, more: others(20, numbers(250))},
		"several imports":              {schema: `{}`, more: others(30, `{type: object, properties: {a: {type: string}}}`), plain: true},
		"target":                       {schema: `{}`, more: "- {name: other, type: target, targetType: x}", plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			env := importing(t, c.schema, c.more)
			assert.Equal(t, c.plain, isPlain(env.Blueprint, &render.Imports{Data: map[string]any{"value": c.value}}, c.mappings))
		})
	}
}

// What is satisfied here needs no child: this Renderer cannot have one.
func TestPlainImportsNeedNoChild(t *testing.T) {
	r := New(confined.Limits{})
	r.Close()
	env := importing(t, `{type: integer, minimum: 1}`, "")
	values, err := r.Satisfy(t.Context(), env, &render.Imports{Data: map[string]any{"value": int64(80)}}, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"value": int64(80)}, values.Data)
	assert.NotNil(t, values.Bindings)

	_, err = r.Satisfy(t.Context(), env, &render.Imports{Data: map[string]any{"value": "secret"}}, nil)
	var problem *render.Error
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, "value", problem.Name)
	assert.NotContains(t, err.Error(), "secret")
	_, err = r.Satisfy(t.Context(), importing(t, `{pattern: x}`, ""), &render.Imports{Data: map[string]any{"value": "x"}}, nil)
	require.Error(t, err, "a Renderer without children has run a pattern")
}

// Compiled schemas take many times as much memory as their text, and what is kept with a blueprint is not told of it: a Validator without memory for them
// is never asked.
func TestPlainImportsLeaveNoSchemasInMemory(t *testing.T) {
	r := New(confined.Limits{})
	r.Close()
	env := importing(t, `{type: integer}`, "")
	env.Schemas = &schema.Validator{}
	given := &render.Imports{Data: map[string]any{"value": int64(80)}}
	_, err := r.Satisfy(t.Context(), env, given, nil)
	require.NoError(t, err)

	given.Data["value"] = "x"
	_, err = r.Satisfy(t.Context(), env, given, nil)
	require.ErrorAs(t, err, new(*schema.Error))
	env.Schemas = nil
	_, err = r.Satisfy(t.Context(), env, given, nil)
	require.NoError(t, err, "without schemas nothing is checked")
}
