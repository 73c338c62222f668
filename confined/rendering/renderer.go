// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"cmp"
	"context"
	"errors"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

// Renderer renders blueprints in children, whatever in them is a program of a user. It is safe for concurrent use. Beside the errors of package render its
// methods return those of confined.Pool.
type Renderer struct {
	pool *confined.Pool[Request, Response]
	// shares of jobs in the time that limits give, and whose job this is; empty is none.
	shares *shares
	job    string
}

// New returns a Renderer, which starts its first child with the first job.
func New(limits confined.Limits) *Renderer {
	return &Renderer{pool: confined.NewPool(program, limits), shares: newShares(cmp.Or(limits.Time, confined.DefaultLimits().Time))}
}

// Of returns the Renderer for one job, which is what has the same name: Satisfy, Plan and Exports take their time out of one. An operation
// that is tried again costs it once, and each has an eighth of it in any case. The children are those of all jobs.
func (r *Renderer) Of(job string) *Renderer {
	own := *r
	own.job = job
	return &own
}

// Close ends the children.
func (r *Renderer) Close() { r.pool.Close() }

// Plan is what a blueprint deploys.
type Plan struct {
	// DeployItems and Subinstallations are the children to make.
	DeployItems      []v1alpha1.DeployItemTemplate
	Subinstallations []model.InstallationTemplate
	// Stored is the state that templates left, also when they failed.
	Stored render.State
	// Unknown are keys without effect in what the templates made.
	Unknown []document.Key
}

// Satisfy is render.Satisfy followed by render.ImportExecutions. Imports that need no program of a user are satisfied in the own process.
func (r *Renderer) Satisfy(ctx context.Context, env *render.Environment, given *render.Imports, mappings map[string]v1alpha1.AnyJSON) (*render.Values, error) {
	if isPlain(env.Blueprint, given, mappings) {
		return render.Satisfy(ctx, withOwnSchemas(env), given, nil)
	}
	var out render.Values
	err := r.run(ctx, env, &work{Operation: satisfy, Given: given, Mappings: mappings}, &out)
	return &out, err
}

// withOwnSchemas returns an environment that checks the same, and keeps no compiled schemas with the blueprint.
func withOwnSchemas(env *render.Environment) *render.Environment {
	own := *env
	if own.Schemas != nil {
		own.Schemas = schema.New(schema.Options{}) // plain schemas refer to nothing
	}
	return &own
}

// Plan is render.DeployItems followed by render.Subinstallations.
func (r *Renderer) Plan(ctx context.Context, env *render.Environment, values *render.Values, previous render.State) (*Plan, error) {
	var out Plan
	err := r.run(ctx, env, &work{Operation: plan, Values: values, Previous: bytesOf(previous)}, &out)
	return &out, err
}

// Exports is render.Exports.
func (r *Renderer) Exports(ctx context.Context, env *render.Environment, values *render.Values, inputs render.ExportInputs, previous render.State) (*render.ExportValues, render.State, error) {
	var out exported
	err := r.run(ctx, env, &work{Operation: exports, Values: values, Inputs: &inputs, Previous: bytesOf(previous)}, &out)
	return out.Values, out.Stored, err
}

// Validate is schema.Validator.Validate.
func (r *Renderer) Validate(ctx context.Context, options schema.Options, raw []byte, value any) error {
	blueprint := &model.Blueprint{LocalTypes: options.LocalTypes}
	env := &render.Environment{Blueprint: blueprint, Files: options.Blueprint, Schemas: schema.New(options)}
	return r.run(ctx, env, &work{Operation: validate, Schema: raw, Value: value}, nil)
}

// Execute runs one template without files and capabilities.
func (r *Renderer) Execute(ctx context.Context, language string, in templating.Input) (templating.Output, error) {
	var out templating.Output
	single := &single{Language: language, Name: in.Name, Source: in.Source, Values: in.Values, RejectNoValue: in.RejectNoValue}
	err := r.run(ctx, &render.Environment{Blueprint: &model.Blueprint{}, Unmasked: in.Unmasked}, &work{Operation: execute, Single: single}, &out)
	return out, err
}

func (r *Renderer) run(ctx context.Context, env *render.Environment, w *work, out any) error {
	w.describe(env)
	body, err := marshal(w)
	if err != nil {
		return err
	}
	share := r.shares.of(r.job)
	left := share.left(w.Operation)
	response, err := r.pool.Run(ctx, confined.Job{
		Owner: env.Namespace, Answers: answers(env), Limits: confined.Limits{Time: left},
		Took: func(taken time.Duration) { share.take(w.Operation, taken) },
	}, Request{Body: body})
	var ended *confined.Ended
	if errors.As(err, &ended) {
		share.tell(ended, left)
	}
	if errors.As(err, &ended) && ended.Step == "" {
		ended.Step = "reading what the templates see"
	}
	if err != nil {
		return err
	}
	if len(response.Body) > 0 && out != nil {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(response.Body, out); err != nil {
			return err
		}
	}
	return response.Failure.restore()
}
