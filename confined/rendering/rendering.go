// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendering runs package blueprints/render in worker processes: templates, mappings, and schemas with the patterns of users. The files of the
// blueprint go there with each request; contents of components and kubeconfigs come from the parent, with the rights of the Installation. Callers use it as
// they would use package render: results and errors are the same. It promises nothing to others.
package rendering

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing/fstest"

	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

// Renderer renders blueprints in workers, whatever in them is a program of a user. It is safe for concurrent use. Beside the errors of package render its
// methods return those of confined.Pool.
type Renderer struct {
	pool *confined.Pool[Request, Response]
}

// New returns a Renderer, which starts its first worker with the first job.
func New(limits confined.Limits) *Renderer { return &Renderer{confined.NewPool(program, limits)} }

// Satisfy is render.Satisfy followed by render.ImportExecutions.
func (r *Renderer) Satisfy(ctx context.Context, env *render.Environment, given *render.Imports, mappings map[string]v1alpha1.AnyJSON) (*render.Values, error) {
	var out render.Values
	err := r.run(ctx, work{Operation: satisfy, Environment: env, Given: given, Mappings: mappings}, nil, &out)
	return &out, err
}

// Plan is render.Planned.
func (r *Renderer) Plan(ctx context.Context, env *render.Environment, values *render.Values, previous render.State) (*render.Plan, error) {
	var out render.Plan
	err := r.run(ctx, work{Operation: plan, Environment: env, Values: values}, previous, &out)
	return &out, err
}

// Exports is render.Exports.
func (r *Renderer) Exports(ctx context.Context, env *render.Environment, values *render.Values, inputs render.ExportInputs, previous render.State) (*render.ExportValues, render.State, error) {
	var out exported
	err := r.run(ctx, work{Operation: exports, Environment: env, Values: values, Inputs: &inputs}, previous, &out)
	return out.Values, out.Stored, err
}

// Validate is schema.Validator.Validate.
func (r *Renderer) Validate(ctx context.Context, options schema.Options, raw []byte, value any) error {
	env := &render.Environment{Blueprint: &model.Blueprint{LocalTypes: options.LocalTypes}, Files: options.Blueprint, Schemas: schema.New(options)}
	return r.run(ctx, work{Operation: validate, Environment: env, Schema: raw, Value: value}, nil, new(any))
}

// Execute runs one template without files and capabilities.
func (r *Renderer) Execute(ctx context.Context, language string, in templating.Input) (templating.Output, error) {
	var out templating.Output
	err := r.run(ctx, work{Operation: execute, Environment: &render.Environment{Blueprint: &model.Blueprint{}}, Language: language, Template: &in}, nil, &out)
	return out, err
}

func (r *Renderer) run(ctx context.Context, w work, previous render.State, out any) error {
	env := w.Environment
	files, err := packed(env.Files)
	if err != nil {
		return fmt.Errorf("the files of the blueprint cannot be read: %w", fault.WithoutPath(err))
	}
	w.HasComponent = env.Schemas != nil && env.Schemas.Resource() != nil
	body, err := marshal(w)
	if err != nil {
		return err
	}
	response, err := r.pool.Run(ctx, confined.Job{Owner: env.Namespace, Answers: answers(env)}, Request{Body: body, Files: files, Previous: previous})
	if err != nil {
		return err
	}
	err = kjson.UnmarshalCaseSensitivePreserveInts(response.Body, out)
	if response.Failure != nil {
		return response.Failure
	}
	return err
}

// packed returns files in memory.
func packed(files fs.FS) (fstest.MapFS, error) {
	if inMemory, ok := files.(fstest.MapFS); ok || files == nil {
		return inMemory, nil
	}
	copied, _, err := model.Snapshot(files)
	return copied, err
}

// marshal writes JSON and leaves texts as they are.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return out.Bytes(), err
}

// answers are the capabilities of an environment, for its worker.
func answers(env *render.Environment) map[string]confined.Answer {
	out := map[string]confined.Answer{}
	if env.Resources != nil {
		out[askContent] = confined.AnswerWith(env.Resources.ResourceContent)
	}
	if env.Clusters != nil {
		out[askKubeconfig] = confined.AnswerWith(env.Clusters.Kubeconfig)
	}
	if env.Schemas != nil && env.Schemas.Resource() != nil {
		out[askSchema] = confined.AnswerWith(env.Schemas.Resource())
	}
	return out
}

// Request is a job on its way to a worker: its body in JSON, the files of the blueprint, and the state that templates left before.
type Request struct {
	Body     []byte
	Files    fstest.MapFS
	Previous render.State
}

// Response is what comes back: a result in JSON, also where the job failed.
type Response struct {
	Body    []byte
	Failure *render.Failure
}

// What a worker can do, and what it asks its parent.
const (
	satisfy, plan, exports, validate, execute = "satisfy", "plan", "exports", "validate", "execute"
	askContent, askSchema, askKubeconfig      = "content", "schema", "kubeconfig"
)

// work is the body of a Request. Only the fields of its operation are set. The environment comes without files and capabilities; with a component, schemas
// can refer to it.
type work struct {
	Operation    string
	Environment  *render.Environment
	HasComponent bool
	Given        *render.Imports
	Mappings     map[string]v1alpha1.AnyJSON
	Values       *render.Values
	Inputs       *render.ExportInputs
	Schema       []byte
	Value        any
	Language     string
	Template     *templating.Input
}

type exported struct {
	Values *render.ExportValues
	Stored render.State
}

// program is what the workers of this package do.
var program = confined.NewProgram("blueprint", perform)

func perform(ctx context.Context, parent *confined.Parent, request Request) (Response, error) {
	parent.Begin("reading what the templates see")
	var w work
	if err := kjson.UnmarshalCaseSensitivePreserveInts(request.Body, &w); err != nil {
		return Response{}, fmt.Errorf("the request cannot be read: %w", err)
	}
	env, own := w.Environment, remote{parent}
	env.Begin, env.Resources, env.Clusters = parent.Begin, own, own
	options := schema.Options{LocalTypes: env.Blueprint.LocalTypes}
	if request.Files != nil {
		env.Files, options.Blueprint = request.Files, request.Files
	}
	if w.HasComponent {
		options.Resource = own.schema
	}
	env.Schemas = schema.New(options)
	out, failed := w.do(ctx, parent, request.Previous)
	body, err := marshal(out)
	if err != nil {
		return Response{}, errors.New("the result is not JSON data")
	}
	return Response{Body: body, Failure: render.FailureOf(failed)}, nil
}

// do returns a result also together with an error.
func (w *work) do(ctx context.Context, parent *confined.Parent, previous render.State) (any, error) {
	env := w.Environment
	switch w.Operation {
	case satisfy:
		values, err := render.Satisfy(ctx, env, w.Given, w.Mappings)
		if err == nil {
			err = render.ImportExecutions(ctx, env, values)
		}
		return values, err
	case plan:
		return render.Planned(ctx, env, w.Values, previous)
	case exports:
		values, stored, err := render.Exports(ctx, env, w.Values, *w.Inputs, previous)
		return exported{Values: values, Stored: stored}, err
	case validate:
		return nil, env.Schemas.Validate(w.Schema, w.Value)
	}
	engine, err := templating.For(w.Language)
	if err != nil {
		return nil, err
	}
	parent.Begin("template " + w.Template.Name)
	return engine.Execute(ctx, *w.Template)
}

// remote has the capabilities of the parent.
type remote struct{ parent *confined.Parent }

// ResourceContent implements templating.ResourceReader.
func (r remote) ResourceContent(_ context.Context, key templating.ResourceKey) (templating.Content, error) {
	return confined.Ask[templating.ResourceKey, templating.Content](r.parent, askContent, key)
}

// Kubeconfig implements templating.Clusters.
func (r remote) Kubeconfig(_ context.Context, wanted templating.KubeconfigRequest) (templating.Kubeconfig, error) {
	return confined.Ask[templating.KubeconfigRequest, templating.Kubeconfig](r.parent, askKubeconfig, wanted)
}

// schema returns the JSON schema of a component resource.
func (r remote) schema(_ context.Context, uri string) ([]byte, error) {
	return confined.Ask[string, []byte](r.parent, askSchema, uri)
}
