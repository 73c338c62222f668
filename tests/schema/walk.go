// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema walks the schemas of our kinds and says what strangers may write into each field.
package schema

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Object is the content of a field that has fields.
type Object = map[string]any

// Node is a schema as CRDs write it.
type Node struct {
	Type                 string          `json:"type"`
	Format               string          `json:"format"`
	Properties           map[string]Node `json:"properties"`
	Items                *Node           `json:"items"`
	AdditionalProperties *Node           `json:"additionalProperties"`
	Required             []string        `json:"required"`
	Enum                 []any           `json:"enum"`
	Pattern              string          `json:"pattern"`
	MaxLength            int             `json:"maxLength"`
	MaxItems             int             `json:"maxItems"`
	MaxProperties        int             `json:"maxProperties"`
}

type definition struct {
	Spec struct {
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Schema struct {
				OpenAPIV3Schema Node `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// Definitions returns the schemas in a folder of CRDs by kind.
func Definitions(folder string) (map[string]Node, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	found := map[string]Node{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd definition
		if err := yaml.Unmarshal(raw, &crd); err != nil || len(crd.Spec.Versions) == 0 {
			return nil, fmt.Errorf("%s is not a CRD with versions: %w", file, err)
		}
		found[crd.Spec.Names.Kind] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return found, nil
}

// Huge is a text of 1 MiB.
var Huge = strings.Repeat("x", 1<<20)

// candidates are values that the schema of a field lets through, or that it would let through without patterns and bounds.
func (n *Node) candidates() []any {
	switch {
	case n.Type == "string" && n.Format == "date-time":
		return []any{"2026-01-31t12:00:00z", "2026-01-31T12:00:00+99:99", "2026-01-31T12:00:00x5Z", "2026-01-31T12:00:00Z"}
	case n.Type == "string":
		return []any{"", "soon", "9999999999999999999h", "====", "\x00", Huge}
	case n.Type == "integer":
		return []any{int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt32) + 1, -1, 0, 1e9}
	case n.Type == "boolean":
		return []any{true, nil}
	case n.Type == "array":
		return []any{nil, []any{}, []any{nil}}
	case n.Type == "object":
		return []any{nil, Object{}, Object{"unknown": "x"}, Object{"unknown": nil}}
	}
	return Anything()
}

// Anything are values for a field whose type nobody tells.
func Anything() []any {
	return []any{nil, "soon", Huge, -1.5, 1e300, true, []any{1, Object{}}, Object{"a": Object{"b": nil}}}
}

// Visit gets a field by its path, what puts a value there and returns the whole, and the values to put.
type Visit func(path string, put func(any) any, values []any)

// Walk visits each field below a node, which is at a path; put makes the whole from a value of the node.
func (n *Node) Walk(path string, put func(any) any, visit Visit) {
	visit(path, put, n.candidates())
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if path == "" && (name == "metadata" || name == "kind" || name == "apiVersion") {
			continue
		}
		child := n.Properties[name]
		child.Walk(path+"."+name, func(v any) any { return put(Object{name: v}) }, visit)
	}
	if n.Items != nil {
		n.Items.Walk(path+"[]", func(v any) any { return put([]any{v}) }, visit)
	}
	if n.AdditionalProperties != nil {
		n.AdditionalProperties.Walk(path+"{}", func(v any) any { return put(Object{"key": v}) }, visit)
	}
}
