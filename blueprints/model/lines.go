// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
)

// explainDecode adds field and line to an error of reading the document.
func explainDecode(text, raw []byte, err error) error {
	var tree any
	_ = json.Unmarshal(raw, &tree) // it was read before
	misfit := document.First(reflect.TypeFor[Blueprint](), tree)
	if misfit == nil {
		return fmt.Errorf("%s cannot be read: %w", FileName, err)
	}
	return fmt.Errorf("%s, line %d: field %s is a value of type %s; it must be of type %s", FileName, lineOf(text, misfit.Path),
		misfit.Path, typeName(reflect.TypeOf(misfit.Value)), typeName(misfit.Type))
}

// typeName is what a type is called in JSON.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	}
	return t.Kind().String()
}

// lineOf finds the line of the value at the path, or of its nearest parent that can be found.
func lineOf(text []byte, path string) int {
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return 1
	}
	node := root.Content[0]
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		next, _ := Child(node, step)
		if next == nil {
			break
		}
		node = next
	}
	return node.Line
}

// Child returns the value at one step below a YAML node, and the line of its key; nil if there is none.
func Child(node *yamlv3.Node, step string) (*yamlv3.Node, int) {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	if node.Kind == yamlv3.SequenceNode {
		index, err := strconv.Atoi(step)
		if err != nil || index < 0 || index >= len(node.Content) {
			return nil, 0
		}
		return node.Content[index], node.Content[index].Line
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == step {
			return node.Content[i+1], node.Content[i].Line
		}
	}
	return nil, 0
}
