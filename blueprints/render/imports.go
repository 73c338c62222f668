// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// ImportExecutions runs the import executions and adds their bindings to the values; each sees those of the ones before. The first one
// that reports errors ends the chain.
func ImportExecutions(ctx context.Context, env *Environment, values *Values) error {
	x := execution{env: env, field: "importExecutions"}
	if values.Bindings == nil {
		values.Bindings = map[string]any{}
	}
	_, err := x.run(ctx, env.Blueprint.ImportExecutions, func() map[string]any { return env.bindings(values) }, func(made json.RawMessage) error {
		var out importsMade
		if err := x.read(made, &out); err != nil {
			return err
		}
		if len(out.Errors) > 0 {
			return &Error{Reason: ReasonImportValidationFailed, Err: fmt.Errorf("import validation failed: %s", strings.Join(out.Errors, ", "))}
		}
		err := utiljson.ConvertMapNumbers(out.Bindings, 0)
		maps.Copy(values.Bindings, out.Bindings)
		return err
	})
	return err
}

// Satisfy finds a value for each import of the blueprint: the result of the mapping of its name, else the import of the installation
// with its name, else the default of an optional data import. Given are the imports of the installation by their names there; ones
// that the blueprint does not declare are legal. Data is checked against its schema, targets against their type. Errors about an
// import are of type *Error.
func Satisfy(ctx context.Context, env *Environment, given *Imports, mappings map[string]v1alpha1.AnyJSON) (*Values, error) {
	mapped, err := templating.ImportMappings(ctx, mappings, given.Template(), env.begin)
	if err != nil {
		return nil, &Error{Reason: ReasonImportNotSatisfied, Err: err}
	}
	s := &satisfier{env: env, given: given, mapped: mapped, values: &Values{Imports: NewImports(), Bindings: map[string]any{}}}
	return s.values, s.all(env.Blueprint.Imports)
}

type satisfier struct {
	env    *Environment
	given  *Imports
	mapped map[string]any
	values *Values
}

// all goes into the conditional imports of those that have a value.
func (s *satisfier) all(definitions []model.ImportDefinition) error {
	for i := range definitions {
		d := &definitions[i]
		found, err := s.one(d)
		if err != nil {
			return err
		}
		if !found && d.IsRequired() {
			return &Error{Reason: ReasonImportNotFound, Name: d.Name, Err: s.missing(d)}
		}
		if found {
			if err := s.all(d.ConditionalImports); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *satisfier) missing(d *model.ImportDefinition) error {
	for _, other := range []model.FieldType{model.TypeData, model.TypeTarget, model.TypeTargetList, model.TypeTargetMap} {
		if other != d.Type && s.given.has(other, d.Name) {
			return fmt.Errorf("the blueprint needs import %q of type %s, but the installation gives it as type %s", d.Name, d.Type, other)
		}
	}
	hint := ""
	if len(d.Default.Value.RawMessage) > 0 {
		hint = " (its default counts only with required: false)"
	}
	return fmt.Errorf("the blueprint needs import %q of type %s; add it to the imports of the installation%s", d.Name, d.Type, hint)
}

func (s *satisfier) one(d *model.ImportDefinition) (bool, error) {
	switch d.Type {
	case model.TypeData:
		return s.data(d)
	case model.TypeTarget:
		target, ok := s.given.Targets[d.Name]
		if ok {
			s.values.Targets[d.Name] = target
		}
		return ok, s.checkTarget(d, "", target, ok)
	case model.TypeTargetList:
		return s.targetList(d)
	case model.TypeTargetMap:
		return s.targetMap(d)
	}
	return false, &Error{Reason: ReasonImportNotSatisfied, Name: d.Name, Err: fmt.Errorf("import %q has the unknown type %q", d.Name, d.Type)}
}

func (s *satisfier) data(d *model.ImportDefinition) (bool, error) {
	value, isGiven := s.mapped[d.Name]
	empty := "importDataMappings." + d.Name
	if !isGiven {
		value, isGiven = s.given.Data[d.Name]
		empty = cmp.Or(s.given.Empty[d.Name], fmt.Sprintf("import %q", d.Name))
	}
	ok := value != nil
	if isGiven && !ok && d.IsRequired() {
		return false, &Error{Reason: ReasonImportNotFound, Name: d.Name, Err: fmt.Errorf(
			"%s has no value, and the blueprint needs import %q; give it one, or make the import optional with required: false", empty, d.Name)}
	}
	if !ok && !d.IsRequired() && len(d.Default.Value.RawMessage) > 0 {
		ok = true
		if err := foreign.DecodeJSON(d.Default.Value.RawMessage, &value); err != nil {
			return false, &Error{Reason: ReasonImportNotSatisfied, Name: d.Name, Err: fmt.Errorf("default of import %q %w", d.Name, err)}
		}
	}
	if !ok || value == nil {
		return false, nil
	}
	s.values.Data[d.Name] = value
	if err := checkSchema(s.env, "import", d.Name, d.Schema, value); err != nil {
		return false, schemaError("import", d.Name, err)
	}
	return true, nil
}

func checkSchema(env *Environment, what, name string, schema *v1alpha1.AnyJSON, value any) error {
	if schema == nil || env.Schemas == nil {
		return nil
	}
	env.begin(fmt.Sprintf("schema of %s %q", what, name))
	return env.Schemas.Validate(schema.RawMessage, value)
}

func (s *satisfier) targetList(d *model.ImportDefinition) (bool, error) {
	targets, ok := s.given.TargetLists[d.Name]
	if !ok {
		return false, nil
	}
	s.values.TargetLists[d.Name] = targets
	for i, target := range targets {
		if err := s.checkTarget(d, fmt.Sprintf("[%d]", i), target, true); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *satisfier) targetMap(d *model.ImportDefinition) (bool, error) {
	targets, ok := s.given.TargetMaps[d.Name]
	if !ok {
		return false, nil
	}
	s.values.TargetMaps[d.Name] = targets
	for _, key := range slices.Sorted(maps.Keys(targets)) {
		if err := s.checkTarget(d, "["+key+"]", targets[key], true); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *satisfier) checkTarget(d *model.ImportDefinition, element string, target Target, given bool) error {
	if !given || target.targetType() == d.TargetType {
		return nil
	}
	return &Error{Reason: ReasonImportNotSatisfied, Name: d.Name, Err: fmt.Errorf(
		"import %q needs a Target of type %q, but Target %q is of type %q", d.Name+element, d.TargetType, target.Name, target.targetType())}
}

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
