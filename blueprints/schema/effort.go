// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxEffort is how many pairs of a schema and a part of the data one check may look at. Alternatives that refer to each other multiply
// from level to level; without this limit a small schema would take all memory for its list of mismatches.
const maxEffort = 1_000_000

var errEffort = errors.New("the schema's nested alternatives multiply too much for this value; use fewer of them")

// part is a part of the data with an identity, for remembering.
type part struct {
	properties map[string]*part
	items      []*part
}

func parts(value any) *part {
	p := &part{}
	switch t := value.(type) {
	case map[string]any:
		p.properties = make(map[string]*part, len(t))
		for name, item := range t {
			p.properties[name] = parts(item)
		}
	case []any:
		for _, item := range t {
			p.items = append(p.items, parts(item))
		}
	}
	return p
}

type pair struct {
	schema *jsonschema.Schema
	part   *part
}

// estimate counts the pairs that a check looks at, repeated ones as often as it does.
type estimate struct {
	known map[pair]int
	left  int
}

func checkEffort(schema *jsonschema.Schema, value any) error {
	e := &estimate{known: map[pair]int{}, left: maxEffort}
	if e.of(schema, parts(value)) > maxEffort || e.left < 0 {
		return errEffort
	}
	return nil
}

func (e *estimate) of(schema *jsonschema.Schema, p *part) int {
	if schema == nil || p == nil {
		return 0
	}
	at := pair{schema, p}
	if cost, ok := e.known[at]; ok {
		return cost
	}
	e.known[at] = 1 // a schema that refers to itself; the library reports it
	if e.left--; e.left < 0 {
		return maxEffort
	}
	cost := 1
	for _, next := range inPlace(schema) {
		cost = e.add(cost, next, p)
	}
	cost = min(e.object(cost, schema, p), maxEffort+1)
	cost = min(e.array(cost, schema, p), maxEffort+1)
	e.known[at] = cost
	return cost
}

func (e *estimate) add(cost int, schema *jsonschema.Schema, p *part) int {
	if cost > maxEffort {
		return cost
	}
	return cost + e.of(schema, p)
}

// inPlace returns the schemas that look at the same part of the data.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	out = append(append(append(out, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, next := range s.DependentSchemas {
		out = append(out, next)
	}
	for _, next := range s.Dependencies {
		out = append(out, asSchema(next))
	}
	return out
}

func asSchema(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}

func (e *estimate) object(cost int, s *jsonschema.Schema, p *part) int {
	for name, item := range p.properties {
		cost = e.add(cost, s.Properties[name], item)
		cost = e.add(cost, asSchema(s.AdditionalProperties), item)
		cost = e.add(cost, s.UnevaluatedProperties, item)
		cost = e.add(cost, s.PropertyNames, &part{})
		for _, next := range s.PatternProperties {
			cost = e.add(cost, next, item)
		}
	}
	return cost
}

func (e *estimate) array(cost int, s *jsonschema.Schema, p *part) int {
	positional, _ := s.Items.([]*jsonschema.Schema)
	positional = append(positional[:len(positional):len(positional)], s.PrefixItems...)
	for i, item := range p.items {
		if i < len(positional) {
			cost = e.add(cost, positional[i], item)
		}
		for _, next := range []*jsonschema.Schema{asSchema(s.Items), asSchema(s.AdditionalItems), s.Items2020, s.UnevaluatedItems, s.Contains} {
			cost = e.add(cost, next, item)
		}
	}
	return cost
}
