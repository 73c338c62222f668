// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Field is one line of the API reference.
type Field struct {
	// Path from the root of the object; lists end in [], maps in {}.
	Path string
	// Type as a user of YAML sees it.
	Type string
	// Text of the comment, markers translated.
	Text string
}

// Fields returns every field below a struct type, in the order of the sources. Prefix is put before each path.
func (c *Comments) Fields(root reflect.Type, prefix string) ([]Field, error) {
	var fields []Field
	err := c.collect(root, prefix, nil, &fields)
	return fields, err
}

// collect appends the fields of one struct. Above are the types around it: a type inside itself is not unfolded again.
func (c *Comments) collect(owner reflect.Type, prefix string, above []reflect.Type, fields *[]Field) error {
	for i := range owner.NumField() {
		field := owner.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported(), name == "-", name == "metadata", field.Type.Name() == "TypeMeta":
			continue
		case field.Anonymous && (name == "" || strings.Contains(options, "inline")):
			if err := c.collect(element(field.Type), prefix, above, fields); err != nil {
				return err
			}
			continue
		}
		if err := c.add(owner, field, prefix+name, options, above, fields); err != nil {
			return err
		}
	}
	return nil
}

func (c *Comments) add(owner reflect.Type, field reflect.StructField, path, options string, above []reflect.Type, fields *[]Field) error {
	comment, err := c.ofField(owner, field)
	if err != nil {
		return err
	}
	suffix, label, inner := describe(field.Type)
	if !comment.optional && !strings.Contains(options, "omit") {
		comment.text = "Required. " + comment.text
	}
	*fields = append(*fields, Field{Path: path + suffix, Type: label, Text: strings.TrimSpace(comment.text)})
	if inner == nil || slices.Contains(above, inner) {
		return nil
	}
	return c.collect(inner, path+suffix+".", append(slices.Clone(above), inner), fields)
}

// labels of types that are not unfolded.
var labels = map[string]string{
	"AnyJSON": "any JSON", "RawExtension": "object", "RawMessage": "any JSON", "Duration": "duration", "Time": "time",
	"Condition": "condition", "IntOrString": "integer or string", "JSON": "any JSON",
}

// describe returns what follows the field's name in paths, the type as users see it, and the struct to unfold, if any.
func describe(t reflect.Type) (suffix, label string, inner reflect.Type) {
	t = element(t)
	if known, ok := labels[t.Name()]; ok {
		return "", known, nil
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "", "base64", nil
		}
		suffix, label, inner = describe(t.Elem())
		return "[]" + suffix, "list of " + label, inner
	case reflect.Map:
		suffix, label, inner = describe(t.Elem())
		return "{}" + suffix, "map of " + label, inner
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return "", "any JSON", nil
		}
		return "", "object", t
	case reflect.Interface:
		return "", "any JSON", nil
	}
	return "", scalar(t.Kind()), nil
}

func scalar(kind reflect.Kind) string {
	switch {
	case kind == reflect.Bool:
		return "boolean"
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return "integer"
	}
	return kind.String()
}

func element(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// Table writes fields as a table of Markdown.
func Table(fields []Field) string {
	var table strings.Builder
	table.WriteString("| Field | Type | Meaning |\n|---|---|---|\n")
	for _, f := range fields {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", f.Path, f.Type, strings.ReplaceAll(f.Text, "|", "\\|"))
	}
	return table.String()
}
