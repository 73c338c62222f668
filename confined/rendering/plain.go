// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
)

// What the own process checks, with a blueprint that may be made to take long. Limits of one import keep it from taking the room of all.
const (
	maxPlainSchema = 2 << 10 // bytes
	maxPlainValue  = 1 << 10 // objects, lists and entries, and texts by the 64 bytes
	textUnit       = 64
	// maxPlainSchemas is how many bytes of schemas all imports may have together, of which each import costs importUnit. They are compiled for each job.
	maxPlainSchemas = 16 << 10
	importUnit      = 64
	// maxPlainWork is how often a part of a value may meet a byte of its schema, in all imports together: comparing 1e+300 with such a number takes the
	// longest, and some microseconds.
	maxPlainWork = 64 << 10
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
	left := allowance{schemas: maxPlainSchemas, work: maxPlainWork}
	return left.coverAll(blueprint.Imports, given)
}

// allowance is what the imports that follow may cost.
type allowance struct{ schemas, work int }

func (a *allowance) coverAll(definitions []model.ImportDefinition, given *render.Imports) bool {
	for i := range definitions {
		if !a.cover(&definitions[i], given) || !a.coverAll(definitions[i].ConditionalImports, given) {
			return false
		}
	}
	return true
}

func (a *allowance) cover(definition *model.ImportDefinition, given *render.Imports) bool {
	if a.schemas -= importUnit; a.schemas < 0 {
		return false
	}
	if definition.Schema == nil {
		return true
	}
	raw := definition.Schema.RawMessage
	if a.schemas -= len(raw); len(raw) > maxPlainSchema || a.schemas < 0 {
		return false
	}
	byDefault, ofValue := len(definition.Default.Value.RawMessage), size(given.Data[definition.Name], maxPlainValue)
	if byDefault > maxPlainValue || ofValue > maxPlainValue {
		return false
	}
	if a.work -= len(raw) * (byDefault + ofValue); a.work < 0 {
		return false
	}
	var schema any
	return json.Unmarshal(raw, &schema) == nil && isPlainSchema(schema) && !refers(schema)
}

// refers reports whether something in a schema may be a reference. The documents of references are loaded wherever they are written, also in a default.
func refers(part any) bool {
	switch p := part.(type) {
	case []any:
		return slices.ContainsFunc(p, refers)
	case map[string]any:
		for keyword, value := range p {
			if keyword == "$ref" || refers(value) {
				return true
			}
		}
	}
	return false
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
	if count > limit {
		return count
	}
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
