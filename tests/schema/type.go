// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"strings"
)

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// deepest is how many levels Of goes down in types that contain themselves.
const deepest = 8

// Of returns the schema of a Go type by its JSON tags. What reads itself has a node without type.
func Of(t reflect.Type) Node { return nodeOf(t, deepest) }

func nodeOf(t reflect.Type, depth int) Node {
	switch {
	case depth == 0, t.Implements(unmarshaler), reflect.PointerTo(t).Implements(unmarshaler):
		return Node{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nodeOf(t.Elem(), depth)
	case reflect.String:
		return Node{Type: "string"}
	case reflect.Bool:
		return Node{Type: "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return Node{Type: "integer"}
	case reflect.Slice:
		items := nodeOf(t.Elem(), depth-1)
		return Node{Type: "array", Items: &items}
	case reflect.Map:
		values := nodeOf(t.Elem(), depth-1)
		return Node{Type: "object", AdditionalProperties: &values}
	case reflect.Struct:
		return Node{Type: "object", Properties: fieldsOf(t, depth-1)}
	}
	return Node{}
}

func fieldsOf(t reflect.Type, depth int) map[string]Node {
	fields := map[string]Node{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			for inner, node := range nodeOf(field.Type, depth).Properties {
				fields[inner] = node
			}
		case name != "":
			fields[name] = nodeOf(field.Type, depth)
		}
	}
	return fields
}
