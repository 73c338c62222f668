// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// ExportInputs are what export executions see beside the imports.
type ExportInputs struct {
	// DeployItems are the exports of deploy items by the item's name.
	DeployItems map[string]any
	// DataObjects are the data in the scope of the installation by key: its imports and the exports of its sub-installations.
	DataObjects map[string]any
	// Targets are the Target objects in that scope by key.
	Targets map[string]any
	// Mappings is exportDataMappings of the installation.
	Mappings map[string]v1alpha1.AnyJSON
}

// TargetTemplate is the value of a target export.
type TargetTemplate struct {
	// Type of the Target.
	Type string `json:"type"`
	// Configuration of the Target; not together with SecretRef.
	Configuration *v1alpha1.AnyJSON `json:"config,omitempty"`
	// SecretRef of the Target.
	SecretRef *v1alpha1.LocalSecretReference `json:"secretRef,omitempty"`
	// ServiceAccountName of the Target.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Labels of the Target.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the Target.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ExportValues are the values of exports by name.
type ExportValues struct {
	// Data exports, with the results of mappings.
	Data map[string]any
	// Targets are target exports.
	Targets map[string]TargetTemplate
	// Ignored are names that export executions gave, but the blueprint does not declare.
	Ignored []string
}

// Exports runs the export executions, merges their results in order (maps into each other, other values by replacing), keeps what the
// blueprint declares, checks it against schema or target type, and adds the results of the mappings. Errors about an export are of
// type *Error. The state is returned also together with an error.
func Exports(ctx context.Context, env *Environment, values *Values, inputs ExportInputs, previous State) (*ExportValues, State, error) {
	if previous == nil {
		previous = State{}
	}
	x := execution{env: env, field: "exportExecutions", previous: previous, rejectNoValue: true}
	merged := map[string]any{}
	stored, err := x.run(ctx, env.Blueprint.ExportExecutions, func() map[string]any { return exportBindings(env, values, inputs) }, func(made json.RawMessage) error {
		var out exportsMade
		if err := x.read(made, &out); err != nil {
			return err
		}
		merge(merged, out.Exports)
		return utiljson.ConvertMapNumbers(merged, 0)
	})
	if err != nil {
		return nil, stored, err
	}
	exports, err := checkExports(env, merged)
	if err != nil {
		return nil, stored, err
	}
	mapped, err := templating.ExportMappings(ctx, inputs.Mappings, declared(env.Blueprint, merged), env.begin)
	maps.Copy(exports.Data, mapped)
	return exports, stored, err
}

func exportBindings(env *Environment, values *Values, inputs ExportInputs) map[string]any {
	own := map[string]any{
		"deployitems": nonNil(inputs.DeployItems),
		"dataobjects": nonNil(inputs.DataObjects),
		"targets":     nonNil(inputs.Targets),
	}
	out := env.bindings(values)
	maps.Copy(out, own)
	out["values"] = own
	return out
}

func nonNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// merge puts the values of from into those of into.
func merge(into, from map[string]any) {
	for name, value := range from {
		older, isMap := into[name].(map[string]any)
		newer, alsoMap := value.(map[string]any)
		if isMap && alsoMap {
			merge(older, newer)
			continue
		}
		into[name] = value
	}
}

func declared(b *model.Blueprint, values map[string]any) map[string]any {
	out := map[string]any{}
	for i := range b.Exports {
		if value, ok := values[b.Exports[i].Name]; ok {
			out[b.Exports[i].Name] = value
		}
	}
	return out
}

func checkExports(env *Environment, values map[string]any) (*ExportValues, error) {
	out := &ExportValues{Data: map[string]any{}, Targets: map[string]TargetTemplate{}}
	known := declared(env.Blueprint, values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := known[name]; !ok {
			out.Ignored = append(out.Ignored, name)
		}
	}
	for i := range env.Blueprint.Exports {
		e := &env.Blueprint.Exports[i]
		value, ok := known[e.Name]
		if !ok {
			continue
		}
		if value == nil {
			out.Data[e.Name] = nil // Check says so where it is wanted
			continue
		}
		if err := out.add(env, e, value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (v *ExportValues) add(env *Environment, e *model.ExportDefinition, value any) error {
	if e.Type == model.TypeTarget {
		target, err := targetTemplate(e, value)
		v.Targets[e.Name] = target
		return err
	}
	v.Data[e.Name] = value
	if err := checkSchema(env, "export", e.Name, e.Schema, value); err != nil {
		return schemaError("export", e.Name, err)
	}
	return nil
}

func targetTemplate(e *model.ExportDefinition, value any) (TargetTemplate, error) {
	var out TargetTemplate
	fail := func(format string, args ...any) (TargetTemplate, error) {
		return out, &Error{Reason: ReasonSchemaValidationFailed, Name: e.Name, Err: fmt.Errorf("target export %q "+format, append([]any{e.Name}, args...)...)}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fail("is not JSON data")
	}
	if err := decode(text, &out); err != nil {
		return fail("is not a target: %w", err)
	}
	if out.Type != e.TargetType {
		return fail("is of type %q, but the blueprint declares %q", out.Type, e.TargetType)
	}
	if out.Configuration != nil && out.SecretRef != nil {
		return fail("has both config and secretRef; give one of them")
	}
	return out, nil
}

// Check fails when an export that the installation wants has no value. Wanted are the exports of the installation.
func (v *ExportValues) Check(wanted v1alpha1.InstallationExports) error {
	for _, e := range wanted.Data {
		value, ok := v.Data[e.Name]
		if ok && value == nil {
			return fmt.Errorf("export %q has no value: exportExecutions or exportDataMappings make it null; give it a value, or take it out of spec.exports", e.Name)
		}
		if !ok {
			return fmt.Errorf("data export is not defined: %q; export it in the blueprint or by exportDataMappings", e.Name)
		}
	}
	for _, e := range wanted.Targets {
		if _, ok := v.Targets[e.Name]; !ok {
			return fmt.Errorf("target export is not defined: %q; export it in the blueprint", e.Name)
		}
	}
	return nil
}
