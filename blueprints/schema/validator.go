// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema checks data against the JSON schemas of blueprints: drafts 4, 6, 7, 2019-09 and 2020-12. References lead to local
// types of the blueprint (local://), to its files (blueprint://) and to resources of components (cd://), and nowhere else.
// It promises nothing to others.
package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ReasonFailed is the reason of conditions and errors when data does not match its schema.
const ReasonFailed = "SchemaValidationFailed"

// Options say where references lead.
type Options struct {
	// LocalTypes of the blueprint, for local://<name>.
	LocalTypes map[string]v1alpha1.AnyJSON
	// Blueprint has the files for blueprint://<path>, JSON only; nil when there are none.
	Blueprint fs.FS
	// Resource returns the JSON schema of a component resource by its cd:// URI; nil when there is no component.
	Resource func(ctx context.Context, uri string) ([]byte, error)
}

// Validator checks data against schemas. It is safe for concurrent use.
type Validator struct{ options Options }

// New returns a Validator.
func New(options Options) *Validator { return &Validator{options} }

// With returns a Validator for the same schemas in an installation with a component: resource is Options.Resource.
func (v *Validator) With(resource func(ctx context.Context, uri string) ([]byte, error)) *Validator {
	own := v.options
	own.Resource = resource
	return New(own)
}

// Resource returns Options.Resource.
func (v *Validator) Resource() func(ctx context.Context, uri string) ([]byte, error) {
	return v.options.Resource
}

// Validate checks a value, JSON-like data, against a schema in JSON. An empty schema allows everything. When the data does not match,
// the error is a *Error that lists field paths and expectations and never values; other errors say that the schema itself cannot be
// used.
func (v *Validator) Validate(schema []byte, value any) error {
	if len(schema) == 0 {
		return nil
	}
	compiled, err := v.compileAnyDraft(schema)
	if err != nil {
		return fmt.Errorf("the JSON schema cannot be used: %w", err)
	}
	err = compiled.Validate(value)
	if mismatch, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return describe(mismatch)
	}
	if err != nil {
		return fmt.Errorf("the value cannot be checked against its schema: it is not JSON data of type %T", value)
	}
	return nil
}

// compileAnyDraft takes draft 7 for schemas that name no draft, and draft 4 when that does not fit: the two differ in keywords like
// exclusiveMinimum, and existing schemas use both without saying so.
func (v *Validator) compileAnyDraft(schema []byte) (*jsonschema.Schema, error) {
	compiled, err := v.compileAs(schema, jsonschema.Draft7)
	if _, ok := errors.AsType[*jsonschema.SchemaValidationError](err); !ok {
		return compiled, err
	}
	if older, olderErr := v.compileAs(schema, jsonschema.Draft4); olderErr == nil {
		return older, nil
	}
	return nil, err
}

func (v *Validator) compileAs(schema []byte, draft *jsonschema.Draft) (*jsonschema.Schema, error) {
	r := &resolver{options: v.options, compiler: jsonschema.NewCompiler(), urls: map[string]string{}, loose: map[string]bool{}}
	r.compiler.DefaultDraft(draft)
	r.compiler.AssertFormat()
	r.compiler.UseLoader(refusal{})
	root, err := decode(schema)
	if err != nil {
		return nil, err
	}
	if err := r.register(rootURL, root, scope{}); err != nil {
		return nil, err
	}
	compiled, err := r.compiler.Compile(rootURL)
	return compiled, r.explain(err)
}

// Warnings says which references of a schema, and of the documents that it refers to, mean something else than what the standard says.
func Warnings(options Options, schema []byte) []string {
	r := &resolver{options: options, compiler: jsonschema.NewCompiler(), urls: map[string]string{}, loose: map[string]bool{}}
	if root, err := decode(schema); err == nil {
		_ = r.register(rootURL, root, scope{}) // Validate tells of it
	}
	return slices.Sorted(maps.Keys(r.loose))
}

func decode(schema []byte) (any, error) {
	var root any
	if err := foreign.DecodeJSON(schema, &root); err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	return root, nil
}

// rootURL is where the schema itself is registered.
const rootURL = "schema:///root"

// refusal loads nothing.
type refusal struct{}

func (refusal) Load(url string) (any, error) {
	return nil, errors.New("references to files and to the network are not followed; put the schema into the blueprint " +
		"(local:// or blueprint://) or into a component (cd://)")
}
