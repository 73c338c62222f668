// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
		Resources: x.env.Resources, Closure: x.env.Closure, Clusters: x.env.Clusters, RejectNoValue: x.rejectNoValue})
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
		if err := json.Unmarshal(raw, &state); err != nil {
			return nil, fmt.Errorf("the stored state is not a JSON object: delete the secret with the template state: %w", err)
		}
	}
	if state == nil {
		state = map[string]any{}
	}
	return state, nil
}

// decode reads a document. Keys match in upper and lower case.
func decode(document json.RawMessage, into any) error {
	err := json.Unmarshal(document, into)
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		given, _, _ := strings.Cut(wrongType.Value, " ")
		field := strings.NewReplacer(".DeployItemTemplate", "", ".InstallationTemplate", "").Replace(wrongType.Field)
		return fmt.Errorf("a value of type %s is in field %s, which must be of type %s", given, field, wrongType.Type)
	}
	if err != nil {
		return fmt.Errorf("the output cannot be read: %w", err)
	}
	return nil
}
