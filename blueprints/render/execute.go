// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

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
	return x.note(raw, slices.DeleteFunc(document.KeysInAnyCase(raw, like), IsBeside))
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

// decode reads a document. Keys match in upper and lower case. Numbers of maps without types are of type json.Number.
func decode(document json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	err := decoder.Decode(into)
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		given, _, _ := strings.Cut(wrongType.Value, " ")
		field := strings.NewReplacer("DeployItemTemplate.", "", "InstallationTemplate.", "").Replace(wrongType.Field)
		return fmt.Errorf("a value of type %s is in field %s, which must be of type %s", given, field, wrongType.Type)
	}
	if err != nil {
		return fmt.Errorf("the output cannot be read: %w", err)
	}
	return nil
}
