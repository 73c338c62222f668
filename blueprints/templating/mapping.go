// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// resultKey is where the document of one mapping stands while it is evaluated.
const resultKey = "result"

// Import evaluates importDataMappings. Values holds every import of the Installation under its name: data, Target objects, lists and
// maps of them. The result has one value for each mapping. An error names the mapping. Begin is told
// what is evaluated next; it may be nil.
func ImportMappings(ctx context.Context, mappings map[string]v1alpha1.AnyJSON, values map[string]any, begin func(step string)) (map[string]any, error) {
	return evaluate(ctx, "importDataMappings", mappings, values, begin)
}

// Export evaluates exportDataMappings. Exports holds the values of the blueprint's exports, which mappings see at the top and once
// more under the name exports. The result has one value for each mapping.
func ExportMappings(ctx context.Context, mappings map[string]v1alpha1.AnyJSON, exports map[string]any, begin func(step string)) (map[string]any, error) {
	values := maps.Clone(exports)
	if values == nil {
		values = map[string]any{}
	}
	values["exports"] = exports
	return evaluate(ctx, "exportDataMappings", mappings, values, begin)
}

// Literal returns a mapping whose value is always the given one, whatever in it looks like an expression: somebody else may have written it.
func LiteralMapping(value any) (v1alpha1.AnyJSON, error) {
	var plain any
	raw, err := json.Marshal(value)
	if err == nil {
		err = foreign.DecodeJSON(raw, &plain)
	}
	if err == nil {
		raw, err = json.Marshal(Literal(plain))
	}
	if err != nil {
		return v1alpha1.AnyJSON{}, fmt.Errorf("the value is not JSON: %w", err)
	}
	return v1alpha1.NewAnyJSON(raw), nil
}

func evaluate(ctx context.Context, field string, mappings map[string]v1alpha1.AnyJSON, values map[string]any, begin func(step string)) (map[string]any, error) {
	out := make(map[string]any, len(mappings))
	for _, name := range slices.Sorted(maps.Keys(mappings)) {
		if begin != nil {
			begin(field + "." + name)
		}
		value, err := one(ctx, field+"."+name, mappings[name], values)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", field, name, err)
		}
		out[name] = value
	}
	return out, nil
}

// one evaluates a single mapping. Values named like resultKey stay reachable: the document is inside an object whose key is not
// looked at by expressions, because bindings are found in the innermost scope first, so the key gets a name that no value has.
func one(ctx context.Context, name string, mapping v1alpha1.AnyJSON, values map[string]any) (any, error) {
	key := resultKey
	for _, taken := values[key]; taken; _, taken = values[key] {
		key += "_"
	}
	document, err := json.Marshal(map[string]v1alpha1.AnyJSON{key: mapping})
	if err != nil {
		return nil, fmt.Errorf("the mapping is not JSON: %w", err)
	}
	out, err := Spiff{}.Execute(ctx, Input{Name: name, Source: string(document), Values: values})
	if err != nil {
		return nil, err
	}
	var result map[string]any
	if err := foreign.DecodeJSON(out.Document, &result); err != nil {
		return nil, fmt.Errorf("the result %w", err)
	}
	return result[key], nil
}
