// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	container "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	helm "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	manifestold "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha1"
	manifest "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	mock "github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// SchemasFolder holds the JSON schemas that the command line exports.
const SchemasFolder = "publishing/lint/schemas"

type object = map[string]any

// written are the documents that persons write and that are no kinds of the API server, by the names of their schemas.
var written = map[string]struct {
	root             reflect.Type
	apiVersion, kind string
	// mayOmit says that apiVersion and kind count as these where they are missing.
	mayOmit bool
}{
	"blueprint":            {reflect.TypeFor[model.Blueprint](), model.APIVersion, model.Kind, false},
	"installationtemplate": {reflect.TypeFor[model.InstallationTemplate](), model.APIVersion, "InstallationTemplate", true},
	"helm-v1alpha1":        {reflect.TypeFor[helm.ProviderConfiguration](), helm.APIVersion, "ProviderConfiguration", true},
	"manifest-v1alpha2":    {reflect.TypeFor[manifest.ProviderConfiguration](), manifest.APIVersion, "ProviderConfiguration", true},
	"manifest-v1alpha1":    {reflect.TypeFor[manifestold.ProviderConfiguration](), manifestold.APIVersion, "ProviderConfiguration", true},
	"container-v1alpha1":   {reflect.TypeFor[container.ProviderConfiguration](), container.APIVersion, "ProviderConfiguration", true},
	"mock-v1alpha1":        {reflect.TypeFor[mock.ProviderConfiguration](), mock.APIVersion, "ProviderConfiguration", true},
}

// Schemas returns the JSON schemas of all documents that persons write, by the names of their files: from the CRDs and from Go types with their comments.
func Schemas(module *Module, comments *Comments) (map[string]string, error) {
	made := map[string]object{}
	for name, document := range written {
		b := &schemaBuilder{comments: comments, definitions: object{}, types: map[string]reflect.Type{}}
		root, err := b.fields(document.root)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text, err := comments.Of(document.root)
		if err != nil {
			return nil, err
		}
		root["description"], root["definitions"] = text, b.definitions
		say(root, document.apiVersion, document.kind, document.mayOmit)
		made[name] = root
	}
	crds, err := filepath.Glob(module.Path("config/crd/bases/*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range crds {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						Root object `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		version := crd.Spec.Versions[0]
		root := structural(version.Schema.Root, true)
		properties := root["properties"].(object)
		properties["status"] = object{"description": "What the controller observed."} // nobody writes it
		properties["metadata"] = object{"type": "object", "description": "Name, namespace, labels and annotations."}
		say(root, crd.Spec.Group+"/"+version.Name, crd.Spec.Names.Kind, false)
		made[strings.ToLower(crd.Spec.Names.Kind)] = root
	}
	texts := map[string]string{}
	for name, schema := range made {
		schema["$schema"] = "http://json-schema.org/draft-07/schema#"
		text, err := json.MarshalIndent(schema, "", " ")
		if err != nil {
			return nil, err
		}
		texts[name+".json"] = string(text) + "\n"
	}
	return texts, nil
}

// say fixes apiVersion and kind.
func say(root object, apiVersion, kind string, mayOmit bool) {
	properties := root["properties"].(object)
	properties["apiVersion"], properties["kind"] = object{"const": apiVersion}, object{"const": kind}
	if !mayOmit {
		required, _ := root["required"].([]any)
		root["required"] = slices.Compact(append([]any{"apiVersion", "kind"}, required...))
	}
}

// structural turns a schema of a CRD into one of JSON: what the API server drops or refuses beside it is closed, and fields that may be left out may be null.
func structural(schema object, isRequired bool) object {
	out := object{}
	for key, value := range schema {
		if !strings.HasPrefix(key, "x-kubernetes-") && key != "nullable" && !(key == "format" && value != "date-time") {
			out[key] = value
		}
	}
	properties, hasProperties := schema["properties"].(object)
	if hasProperties {
		required, _ := schema["required"].([]any)
		own := object{}
		for name, property := range properties {
			own[name] = structural(property.(object), slices.Contains(required, any(name)))
		}
		out["properties"] = own
		if schema["x-kubernetes-preserve-unknown-fields"] != true {
			out["additionalProperties"] = false
		}
	}
	if items, ok := schema["items"].(object); ok {
		out["items"] = structural(items, true)
	}
	if values, ok := schema["additionalProperties"].(object); ok {
		out["additionalProperties"] = structural(values, true)
	}
	if schema["x-kubernetes-int-or-string"] == true {
		out["type"] = []any{"integer", "string"}
		delete(out, "anyOf")
	} else if kind, ok := out["type"].(string); ok && (!isRequired || schema["nullable"] == true) {
		out["type"] = []any{kind, "null"}
		if values, ok := out["enum"].([]any); ok {
			out["enum"] = append(slices.Clone(values), nil)
		}
	}
	return out
}

// schemaBuilder makes schemas of Go types.
type schemaBuilder struct {
	comments *Comments
	// definitions are the schemas of the structs inside the document by their names, and types the structs.
	definitions object
	types       map[string]reflect.Type
}

// withoutEffect are keys that published documents have, and nothing reads.
const withoutEffect = "^(example|jsonSchema|stubs|subTypes)$"

// languages are those of templates.
var languages = []any{"GoTemplate", "Spiff"}

func (b *schemaBuilder) fields(t reflect.Type) (object, error) {
	properties, required := object{}, []any{}
	if err := b.collect(t, properties, &required); err != nil {
		return nil, err
	}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	if strings.HasSuffix(t.PkgPath(), "blueprints/model") {
		schema["patternProperties"] = object{withoutEffect: object{"deprecated": true, "description": "It has no effect."}}
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}

func (b *schemaBuilder) collect(t reflect.Type, properties object, required *[]any) error {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported(), name == "-":
			continue
		case field.Anonymous && name == "":
			if err := b.collect(element(field.Type), properties, required); err != nil {
				return err
			}
			continue
		}
		comment, err := b.comments.ofField(t, field)
		if err != nil {
			return err
		}
		isRequired := !comment.optional && !strings.Contains(options, "omit")
		schema, err := b.of(field.Type, isRequired)
		if err != nil {
			return err
		}
		if comment.text != "" {
			schema["description"] = comment.text
		}
		if _, allowed, ok := strings.Cut(comment.text, "One of: "); ok && schema["type"] == "string" {
			values := []any{}
			for _, value := range regexp.MustCompile(`[\w-]+`).FindAllString(strings.TrimSuffix(allowed, "."), -1) {
				values = append(values, value)
			}
			schema["enum"] = values
		}
		if t == reflect.TypeFor[model.TemplateExecutor]() && name == "type" {
			schema["enum"] = languages
		}
		properties[name] = schema
		if isRequired {
			*required = append(*required, name)
		}
	}
	return nil
}

// of returns the schema of a type. What may be left out may be null.
func (b *schemaBuilder) of(t reflect.Type, isRequired bool) (object, error) {
	typed := func(kind string) object {
		if isRequired || kind == "string" {
			return object{"type": kind}
		}
		return object{"type": []any{kind, "null"}}
	}
	t = element(t)
	switch label := labels[t.Name()]; {
	case label == "duration", label == "time":
		return object{"type": "string"}, nil
	case label == "integer or string":
		return object{"type": []any{"integer", "string"}}, nil
	case label != "":
		return object{}, nil
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string"}, nil
		}
		items, err := b.of(t.Elem(), true)
		schema := typed("array")
		schema["items"] = items
		return schema, err
	case reflect.Map:
		values, err := b.of(t.Elem(), true)
		schema := typed("object")
		schema["additionalProperties"] = values
		return schema, err
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return object{}, nil
		}
		if other := b.types[t.Name()]; other != nil && other != t {
			return nil, fmt.Errorf("%s and %s have one name", other, t)
		}
		reference := object{"$ref": "#/definitions/" + t.Name()}
		if b.types[t.Name()] == nil {
			b.types[t.Name()] = t // before its fields: it may hold itself
			schema, err := b.fields(t)
			if err != nil {
				return nil, err
			}
			b.definitions[t.Name()] = schema
		}
		if isRequired {
			return reference, nil
		}
		return object{"anyOf": []any{reference, object{"type": "null"}}}, nil
	case reflect.Interface:
		return object{}, nil
	}
	return typed(scalar(t.Kind())), nil
}
