// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// Target is an imported Target.
type Target struct {
	// Name of the Target object that deploy items refer to: the original one, in the scope of the parent.
	Name string
	// Object is the whole Target as JSON-like data, as templates see it.
	Object any
}

// targetType returns spec.type of the object.
func (t Target) targetType() string {
	object, _ := t.Object.(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	kind, _ := spec["type"].(string)
	return kind
}

// Imports are values by import name. Data is JSON-like: maps with string keys, slices, strings, numbers, booleans, nil.
type Imports struct {
	// Data imports. One that is nil has no value.
	Data map[string]any
	// Empty says of data imports without value where that should be.
	Empty map[string]string
	// Targets are single targets.
	Targets map[string]Target
	// TargetLists are lists of targets in their order.
	TargetLists map[string][]Target
	// TargetMaps are targets by key.
	TargetMaps map[string]map[string]Target
}

// NewImports returns imports without values.
func NewImports() Imports {
	return Imports{Data: map[string]any{}, Empty: map[string]string{}, Targets: map[string]Target{}, TargetLists: map[string][]Target{},
		TargetMaps: map[string]map[string]Target{}}
}

// has reports whether there is an import of that kind and name.
func (i *Imports) has(kind model.FieldType, name string) bool {
	var ok bool
	switch kind {
	case model.TypeData:
		_, ok = i.Data[name]
	case model.TypeTarget:
		_, ok = i.Targets[name]
	case model.TypeTargetList:
		_, ok = i.TargetLists[name]
	case model.TypeTargetMap:
		_, ok = i.TargetMaps[name]
	}
	return ok
}

// Template returns the imports as templates see them: data as it is, Targets as objects, lists and maps of objects.
func (i *Imports) Template() map[string]any {
	out := maps.Clone(i.Data)
	if out == nil {
		out = map[string]any{}
	}
	for name, target := range i.Targets {
		out[name] = target.Object
	}
	for name, targets := range i.TargetLists {
		list := make([]any, len(targets))
		for at, target := range targets {
			list[at] = target.Object
		}
		out[name] = list
	}
	for name, targets := range i.TargetMaps {
		byKey := make(map[string]any, len(targets))
		for key, target := range targets {
			byKey[key] = target.Object
		}
		out[name] = byKey
	}
	return out
}

// Values are the imports of a blueprint together with what its import executions computed.
type Values struct {
	Imports
	// Bindings by import executions; they win over imports of the same name.
	Bindings map[string]any
}

// Template returns imports and bindings as templates see them.
func (v *Values) Template() map[string]any {
	out := v.Imports.Template()
	maps.Copy(out, v.Bindings)
	return out
}

// DataImports returns the data imports that the blueprint declares, with the values that import executions gave them. These are
// published to sub-installations; what import executions made null is none.
func (v *Values) DataImports(b *model.Blueprint) map[string]any {
	out := maps.Clone(v.Data)
	if out == nil {
		out = map[string]any{}
	}
	for _, d := range Flatten(b.Imports) {
		if value, ok := v.Bindings[d.Name]; ok && d.Type == model.TypeData {
			out[d.Name] = value
		}
	}
	maps.DeleteFunc(out, func(_ string, value any) bool { return value == nil })
	return out
}

// Flatten lists definitions with their conditional ones.
func Flatten(definitions []model.ImportDefinition) []model.ImportDefinition {
	return appendFlat(nil, definitions)
}

func appendFlat(out, definitions []model.ImportDefinition) []model.ImportDefinition {
	for _, d := range definitions {
		out = appendFlat(append(out, d), d.ConditionalImports)
	}
	return out
}
