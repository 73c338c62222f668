// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
)

// What the own process checks: no schema is longer, and no value has more. Checking takes at most the product of both.
const (
	maxPlainSchema = 2 << 10 // bytes
	maxPlainValue  = 1 << 10 // objects, lists and entries, and texts by the 64 bytes
	textUnit       = 64
)

// plainKeywords are those of JSON schema whose check takes no longer than the schema is long, for each part of a value. References, patterns, formats
// and combinations of schemas are left to children.
var plainKeywords = map[string]bool{
	"title": true, "description": true, "default": true, "examples": true,
	"type": true, "enum": true, "const": true, "required": true, "properties": true, "additionalProperties": true, "items": true,
	"minimum": true, "maximum": true, "minLength": true, "maxLength": true, "minItems": true, "maxItems": true,
}

// isPlain reports whether the imports of a blueprint can be satisfied without a program of a user: no mapping, no import execution, and for each data
// import a small value with a schema that is small and plain, or none.
func isPlain(blueprint *model.Blueprint, given *render.Imports, mappings map[string]v1alpha1.AnyJSON) bool {
	if len(mappings) > 0 || len(blueprint.ImportExecutions) > 0 {
		return false
	}
	for _, definition := range render.Flatten(blueprint.Imports) {
		if definition.Schema == nil {
			continue
		}
		raw := definition.Schema.RawMessage
		var schema any
		if len(raw) > maxPlainSchema || json.Unmarshal(raw, &schema) != nil || !isPlainSchema(schema) {
			return false
		}
		if len(definition.Default.Value.RawMessage) > maxPlainValue || size(given.Data[definition.Name], maxPlainValue) > maxPlainValue {
			return false
		}
	}
	return true
}

// isPlainSchema reports whether a schema, and each in it, has plain keywords only.
func isPlainSchema(schema any) bool {
	if _, isBool := schema.(bool); isBool {
		return true
	}
	keywords, isObject := schema.(map[string]any)
	if !isObject {
		return false
	}
	for keyword, value := range keywords {
		switch {
		case !plainKeywords[keyword]:
			return false
		case keyword == "items" || keyword == "additionalProperties":
			if !isPlainSchema(value) {
				return false
			}
		case keyword == "properties":
			properties, isObject := value.(map[string]any)
			if !isObject {
				return false
			}
			for _, property := range properties {
				if !isPlainSchema(property) {
					return false
				}
			}
		}
	}
	return true
}

// size returns how much a value has, counted no further than the first above a limit.
func size(value any, limit int) int {
	count := 1
	switch v := value.(type) {
	case string:
		count += len(v) / textUnit
	case []any:
		for _, element := range v {
			if count += size(element, limit-count); count > limit {
				break
			}
		}
	case map[string]any:
		for key, element := range v {
			if count += len(key)/textUnit + size(element, limit-count); count > limit {
				break
			}
		}
	}
	return count
}
