// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
)

// Request is a job on its way to a child, in JSON, as everything that it is about.
type Request struct{ Body []byte }

// Response is what comes back: a result in JSON, also where the job failed.
type Response struct {
	Body    []byte
	Failure *Failure
}

// operation is what a child can do.
type operation string

const (
	satisfy  operation = "satisfy"
	plan     operation = "plan"
	exports  operation = "exports"
	validate operation = "validate"
	execute  operation = "execute"
)

// work is the content of a Request. Only the fields of its operation are set.
type work struct {
	Operation operation

	// What all templates see; see render.Environment.
	Blueprint                     *model.Blueprint
	Namespace                     string
	ComponentDescriptor           any
	Components                    any
	BlueprintDefinition           any
	ComponentDescriptorDefinition any

	// Capabilities that the parent has.
	Unmasked                                                                        bool
	HasFiles, HasResources, HasClosure, HasClusters, HasSchemas, HasSchemaResources bool

	Given    *render.Imports
	Mappings map[string]v1alpha1.AnyJSON
	Values   *render.Values
	Inputs   *render.ExportInputs
	Previous map[string][]byte
	Schema   []byte
	Value    any
	Single   *single
}

// single is one template by itself.
type single struct {
	Language, Name, Source string
	Values                 map[string]any
	RejectNoValue          bool
}

// exported is the result of exports.
type exported struct {
	Values *render.ExportValues
	Stored render.State
}

// describe puts the environment into the request. Capabilities stay with the parent.
func (w *work) describe(env *render.Environment) {
	w.Blueprint, w.Namespace = env.Blueprint, env.Namespace
	w.ComponentDescriptor, w.Components = env.ComponentDescriptor, env.Components
	w.BlueprintDefinition, w.ComponentDescriptorDefinition = env.BlueprintDefinition, env.ComponentDescriptorDefinition
	w.HasFiles, w.HasResources, w.HasClosure, w.HasClusters = env.Files != nil, env.Resources != nil, env.Closure != nil, env.Clusters != nil
	w.HasSchemas, w.Unmasked = env.Schemas != nil, env.Unmasked
	w.HasSchemaResources = w.HasSchemas && env.Schemas.Resource() != nil
}

// bytesOf keeps stored state as it is, also where it is not JSON.
func bytesOf(state render.State) map[string][]byte {
	out := make(map[string][]byte, len(state))
	for name, raw := range state {
		out[name] = raw
	}
	return out
}

func stateOf(raw map[string][]byte) render.State {
	out := make(render.State, len(raw))
	for name, value := range raw {
		out[name] = value
	}
	return out
}

// marshal writes JSON and leaves texts as they are.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return out.Bytes(), err
}

// Failure is an error of package render on its way to the parent.
type Failure struct {
	Message string
	// Reason and Name are those of a render.Error.
	Reason, Name string
	// Cycle are the names of a render.CycleError.
	Cycle []string
	// Problems are those of a schema.Error.
	Problems []string
}

func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	out := &Failure{Message: err.Error()}
	if problem, ok := errors.AsType[*render.Error](err); ok {
		out.Reason, out.Name = problem.Reason, problem.Name
	}
	if cycle, ok := errors.AsType[*render.CycleError](err); ok {
		out.Cycle = cycle.Names
	}
	if mismatch, ok := errors.AsType[*schema.Error](err); ok {
		out.Problems = mismatch.Problems
	}
	return out
}

// restore returns an error with the same message that is found by errors.As as the one that it was made from.
func (f *Failure) restore() error {
	if f == nil {
		return nil
	}
	causes := []error{}
	if f.Reason != "" {
		causes = append(causes, &render.Error{Reason: f.Reason, Name: f.Name, Err: errors.New(f.Message)})
	}
	if len(f.Cycle) > 0 {
		causes = append(causes, &render.CycleError{Names: slices.Clone(f.Cycle)})
	}
	if len(f.Problems) > 0 {
		causes = append(causes, &schema.Error{Problems: slices.Clone(f.Problems)})
	}
	return &restored{message: f.Message, causes: causes}
}

// restored is an error that happened in a child.
type restored struct {
	message string
	causes  []error
}

// Error returns the message as the child wrote it.
func (r *restored) Error() string { return r.message }

// Unwrap returns what the error was about.
func (r *restored) Unwrap() []error { return r.causes }
