// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package render turns a blueprint with its imports into deploy items, sub-installations and exports. It is pure: the same input
// gives the same output, apart from what templates do with the clock and random numbers. The controller and the command line use
// the same functions. It promises nothing to others.
package render

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// Environment is what all templates of one installation see beside its imports. As JSON it has no capabilities.
type Environment struct {
	// Blueprint that is rendered.
	Blueprint *model.Blueprint
	// Files of the blueprint.
	Files fs.FS `json:"-"`
	// Schemas checks data imports and exports.
	Schemas *schema.Validator `json:"-"`
	// Namespace of the installation, for references to Targets.
	Namespace string
	// ComponentDescriptor is the binding cd; nil when there is none.
	ComponentDescriptor any
	// Components is the binding components, the transitive closure with the own component; nil when there is none.
	Components any
	// BlueprintDefinition is spec.blueprint of the installation.
	BlueprintDefinition any
	// ComponentDescriptorDefinition is the effective spec.componentDescriptor; nil leaves the binding out.
	ComponentDescriptorDefinition any
	// Resources and Clusters are capabilities; nil makes functions that need them fail.
	Resources templating.ResourceReader `json:"-"`
	// Closure knows the components behind Components; nil when there are none.
	Closure *templating.Closure
	// Clusters issues kubeconfigs.
	Clusters templating.Clusters `json:"-"`
	// Unknown collects keys without effect in what the templates make.
	Unknown []document.Key
	// Unmasked lets errors show values, to a person who has given them.
	Unmasked bool
	// Begin is told what is run next; nil where nobody needs to know.
	Begin func(step string) `json:"-"`
}

func (e *Environment) begin(step string) {
	if e.Begin != nil {
		e.Begin(step)
	}
}

// bindings are the values that templates of all kinds see.
func (e *Environment) bindings(values *Values) map[string]any {
	out := map[string]any{
		"imports":      values.Template(),
		"cd":           e.ComponentDescriptor,
		"components":   e.Components,
		"blueprint":    e.BlueprintDefinition,
		"blueprintDef": e.BlueprintDefinition,
	}
	if e.ComponentDescriptorDefinition != nil {
		out["componentDescriptorDef"] = e.ComponentDescriptorDefinition
	}
	return out
}

// Reasons of errors about imports and exports.
const (
	// ReasonImportNotFound says that a required import has no value.
	ReasonImportNotFound = "ImportNotFound"
	// ReasonImportNotSatisfied says that an import has a value that does not fit.
	ReasonImportNotSatisfied = "ImportNotSatisfied"
	// ReasonImportValidationFailed says that an import execution found errors.
	ReasonImportValidationFailed = "ImportValidationFailed"
	// ReasonSchemaValidationFailed says that data does not match its schema.
	ReasonSchemaValidationFailed = schema.ReasonFailed
)

// Error is about one import or export.
type Error struct {
	// Reason is one of the reasons above.
	Reason string
	// Name of the import or export; empty when it is about all.
	Name string
	// Err is the cause.
	Err error
}

// Error returns the cause with what it is about.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CycleError says that deploy items or sub-installations depend on each other in a circle.
type CycleError struct {
	// Names along the circle; the first is repeated at the end.
	Names []string
}

// Error lists the circle.
func (e *CycleError) Error() string {
	return "cycle found in dependencies: " + strings.Join(e.Names, " → ") + "; remove one of them (dependsOn, or imports of exports)"
}

// schemaError makes an Error for data that was checked.
func schemaError(what, name string, err error) error {
	reason := ReasonImportNotSatisfied
	if _, ok := errors.AsType[*schema.Error](err); ok {
		reason = ReasonSchemaValidationFailed
	}
	return &Error{Reason: reason, Name: name, Err: fmt.Errorf("%s %q: %w; correct the value or the schema", what, name, err)}
}

// Failure is an error of this package as it can be sent to another process. Errors.As finds in it what it was made from.
type Failure struct {
	Message string
	// Reason and Name are those of an Error, Cycle the names of a CycleError, Problems those of a schema.Error.
	Reason, Name    string
	Cycle, Problems []string
}

// FailureOf returns an error as a Failure, nil for none.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	out := &Failure{Message: err.Error()}
	if problem, ok := errors.AsType[*Error](err); ok {
		out.Reason, out.Name = problem.Reason, problem.Name
	}
	if cycle, ok := errors.AsType[*CycleError](err); ok {
		out.Cycle = cycle.Names
	}
	if mismatch, ok := errors.AsType[*schema.Error](err); ok {
		out.Problems = mismatch.Problems
	}
	return out
}

// Error returns the message as it was.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns what the error was about.
func (f *Failure) Unwrap() (causes []error) {
	if f.Reason != "" {
		causes = append(causes, &Error{Reason: f.Reason, Name: f.Name, Err: errors.New(f.Message)})
	}
	if len(f.Cycle) > 0 {
		causes = append(causes, &CycleError{Names: f.Cycle})
	}
	if len(f.Problems) > 0 {
		causes = append(causes, &schema.Error{Problems: f.Problems})
	}
	return causes
}

// State is what executors store from one run to the next, JSON values by the name of the executor.
type State map[string]json.RawMessage

// execution runs the executors of one list.
type execution struct {
	env *Environment
	// field of the blueprint, for messages.
	field string
	// previous state; nil means that this list keeps no state.
	previous State
	// rejectNoValue fails when a GoTemplate printed a missing value.
	rejectNoValue bool
}

// run renders each executor with the bindings of the moment and hands the document to use. The state that was stored is returned also
// together with an error.
func (x *execution) run(ctx context.Context, executors []model.TemplateExecutor, bindings func() map[string]any, use func(json.RawMessage) error) (State, error) {
	stored := State{}
	for i := range executors {
		e := &executors[i]
		at := fmt.Sprintf("%s[%d] (%s)", x.field, i, cmp.Or(e.Name, "unnamed"))
		x.env.begin(at)
		out, err := x.one(ctx, e, bindings())
		if err != nil {
			return stored, fmt.Errorf("%s: %w", at, err)
		}
		if out.State != nil && x.previous != nil {
			stored[e.Name] = out.State
		}
		if err := use(out.Document); err != nil {
			return stored, fmt.Errorf("%s: %w", at, err)
		}
	}
	return stored, nil
}

func (x *execution) one(ctx context.Context, e *model.TemplateExecutor, bindings map[string]any) (templating.Output, error) {
	engine, err := templating.For(e.Type)
	if err != nil {
		return templating.Output{}, err
	}
	source, err := x.source(e)
	if err != nil {
		return templating.Output{}, err
	}
	state, err := x.state(e.Name)
	if err != nil {
		return templating.Output{}, err
	}
	return engine.Execute(ctx, templating.Input{Name: e.Name, File: e.File, Source: source, Files: x.env.Files, Values: bindings, State: state,
		Resources: x.env.Resources, Closure: x.env.Closure, Clusters: x.env.Clusters, RejectNoValue: x.rejectNoValue, Unmasked: x.env.Unmasked})
}

// source is the template in place, or else that of the file. A template in place that is structured is JSON, which is YAML.
func (x *execution) source(e *model.TemplateExecutor) (string, error) {
	inPlace := e.Template.RawMessage
	if len(inPlace) == 0 && e.File == "" {
		return "", errors.New("no template found; set file or template")
	}
	if len(inPlace) == 0 {
		text, err := templating.ReadFile(x.env.Files, e.File)
		return string(text), err
	}
	var text string
	if json.Unmarshal(inPlace, &text) == nil {
		return text, nil
	}
	if e.Type == templating.KindGoTemplate {
		return "", errors.New("the template of a GoTemplate must be a text; write template: | before it")
	}
	return string(inPlace), nil
}

func (x *execution) state(name string) (map[string]any, error) {
	if x.previous == nil {
		return nil, nil
	}
	state := map[string]any{}
	if raw := x.previous[name]; len(raw) > 0 {
		if err := foreign.DecodeJSON(raw, &state); err != nil {
			return nil, fmt.Errorf("the stored state is not a JSON object: delete the secret with the template state: %w", err)
		}
	}
	if state == nil {
		state = map[string]any{}
	}
	return state, nil
}

// What executions make.
type (
	importsMade struct {
		Bindings map[string]any `json:"bindings"`
		Errors   []string       `json:"errors"`
	}
	subinstallationsMade struct {
		Subinstallations []model.InstallationTemplate `json:"subinstallations"`
	}
	deployItemsMade struct {
		DeployItems []deployItem `json:"deployItems"`
	}
	exportsMade struct {
		Exports map[string]any `json:"exports"`
	}
)

// OutputOf returns a pointer to what the executions of a list of the blueprint make; nil for no such list.
func OutputOf(list string) any {
	return map[string]any{
		"importExecutions": &importsMade{}, "subinstallationExecutions": &subinstallationsMade{},
		"deployExecutions": &deployItemsMade{}, "exportExecutions": &exportsMade{},
	}[list]
}

// IsBeside reports whether a template uses an unknown key for itself: it stands beside what the executions make, and is not meant to be that.
func IsBeside(key document.Key) bool {
	return !strings.ContainsAny(key.Path, ".[") && (key.Meant == "" || strings.ContainsAny(key.Meant, ".["))
}

// read decodes what the templates of the list made.
func (x *execution) read(raw json.RawMessage, into any) error {
	if err := decode(raw, into); err != nil {
		return err
	}
	return x.noteMade(raw, into)
}

// noteMade is note for what the templates of the list made.
func (x *execution) noteMade(raw json.RawMessage, like any) error {
	return x.note(raw, Misplaced(slices.DeleteFunc(document.KeysInAnyCase(raw, like), IsBeside)))
}

// note returns an error about the unknown keys of a document that are near to a known one. The others have no effect, and are noted.
func (x *execution) note(raw json.RawMessage, unknown []document.Key) error {
	near, others := document.Near(unknown)
	if len(near) > 0 {
		return fmt.Errorf("%s%s", elementOf(raw, near[0].Path), document.List(near))
	}
	for i := range others {
		others[i].Path = x.field + ": " + elementOf(raw, others[i].Path) + others[i].Path
	}
	x.env.Unknown = append(x.env.Unknown, others...)
	return nil
}

// elementOf names the element of a list that a path goes through, for messages.
func elementOf(raw json.RawMessage, path string) string {
	list, rest, _ := strings.Cut(path, "[")
	index, _, _ := strings.Cut(rest, "]")
	var lists map[string]json.RawMessage
	var elements []struct{ Name any }
	at, err := strconv.Atoi(index)
	if err != nil || json.Unmarshal(raw, &lists) != nil || json.Unmarshal(lists[list], &elements) != nil {
		return ""
	}
	if at < 0 || at >= len(elements) {
		return ""
	}
	if name, _ := elements[at].Name.(string); name != "" {
		return fmt.Sprintf("%q: ", name)
	}
	return ""
}

// decodeEach reads the elements of a list one by one. Errors name the element with its name, what it is called, and its position in the field.
func decodeEach[T any](list []json.RawMessage, what, field string) ([]T, error) {
	out := make([]T, len(list))
	for i, raw := range list {
		if err := decode(raw, &out[i]); err != nil {
			var named struct{ Name string }
			_ = json.Unmarshal(raw, &named) // without name the position says which
			if named.Name != "" {
				what += fmt.Sprintf(" %q", named.Name)
			}
			return nil, fmt.Errorf("%s (%s[%d]): %w", what, field, i, err)
		}
	}
	return out, nil
}

// decode reads a document. Keys match in upper and lower case. Numbers of maps without types are of type json.Number. Errors name the field.
func decode(raw json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err := decoder.Decode(into)
	if err == nil {
		return nil
	}
	if inWords := document.Decode(raw, reflect.New(reflect.TypeOf(into).Elem()).Interface()); inWords != nil {
		return inWords
	}
	return fmt.Errorf("the output cannot be read: %w", err)
}
