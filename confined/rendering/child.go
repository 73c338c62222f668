// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"context"
	"errors"
	"fmt"
	"maps"

	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

// program is what the children of this package do.
var program = confined.NewProgram("blueprint", perform)

func perform(ctx context.Context, parent *confined.Parent, request Request) (Response, error) {
	var w work
	if err := kjson.UnmarshalCaseSensitivePreserveInts(request.Body, &w); err != nil {
		return Response{}, fmt.Errorf("the request cannot be read: %w", err)
	}
	out, failed := w.do(ctx, parent)
	body, err := marshal(out)
	if err != nil {
		return Response{}, errors.New("the result is not JSON data")
	}
	return Response{Body: body, Failure: failureOf(failed)}, nil
}

// do returns a result also together with an error.
func (w *work) do(ctx context.Context, parent *confined.Parent) (any, error) {
	env := w.environment(parent)
	switch w.Operation {
	case satisfy:
		values, err := render.Satisfy(ctx, env, w.Given, w.Mappings)
		if err == nil {
			err = render.ImportExecutions(ctx, env, values)
		}
		return values, err
	case plan:
		return w.plan(ctx, env)
	case exports:
		values, stored, err := render.Exports(ctx, env, w.Values, *w.Inputs, stateOf(w.Previous))
		return exported{Values: values, Stored: stored}, err
	case validate:
		return nil, env.Schemas.Validate(w.Schema, w.Value)
	case execute:
		engine, err := templating.For(w.Single.Language)
		if err != nil {
			return nil, err
		}
		parent.Begin("template " + w.Single.Name)
		return engine.Execute(ctx, templating.Input{Name: w.Single.Name, Source: w.Single.Source, Values: w.Single.Values, RejectNoValue: w.Single.RejectNoValue, Unmasked: w.Unmasked})
	}
	return nil, fmt.Errorf("operation %q is unknown", w.Operation)
}

func (w *work) plan(ctx context.Context, env *render.Environment) (*Plan, error) {
	out := &Plan{Stored: render.State{}}
	items, stored, err := render.DeployItems(ctx, env, w.Values, stateOf(w.Previous))
	maps.Copy(out.Stored, stored)
	if err != nil {
		return out, err
	}
	out.DeployItems = items
	out.Subinstallations, stored, err = render.Subinstallations(ctx, env, w.Values, stateOf(w.Previous))
	maps.Copy(out.Stored, stored)
	out.Unknown = env.Unknown
	return out, err
}

// environment is that of the parent, with its capabilities behind calls.
func (w *work) environment(parent *confined.Parent) *render.Environment {
	env := &render.Environment{
		Blueprint: w.Blueprint, Namespace: w.Namespace, ComponentDescriptor: w.ComponentDescriptor, Components: w.Components,
		BlueprintDefinition: w.BlueprintDefinition, ComponentDescriptorDefinition: w.ComponentDescriptorDefinition, Unmasked: w.Unmasked, Begin: parent.Begin,
	}
	r := remote{parent: parent}
	if w.HasFiles {
		env.Files = r
	}
	if w.HasResources {
		env.Resources = r
	}
	if w.HasClosure {
		env.Closure = r
	}
	if w.HasClusters {
		env.Clusters = r
	}
	if w.HasSchemas {
		options := schema.Options{LocalTypes: w.Blueprint.LocalTypes, Blueprint: env.Files}
		if w.HasSchemaResources {
			options.Resource = r.schema
		}
		env.Schemas = schema.New(options)
	}
	return env
}
