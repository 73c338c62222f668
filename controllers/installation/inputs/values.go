// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/view"
)

// showComponent adds the component, if there is one, to what templates and schemas see.
func showComponent(env *render.Environment, found *Component) (*view.View, error) {
	if found == nil {
		return nil, nil
	}
	shown, err := view.Show(env, view.Component{
		Root: found.root, Closed: found.closed, Session: found.session, Standard: found.standard, Pinned: found.verified != "",
	})
	if err != nil {
		return nil, kit.Stall(jobs.RenderOperation, "InvalidBlueprint", "%w", err)
	}
	return shown, nil
}

// viewFailure says who can end a failure of rendering. What was wrong with the content that was read decides, if there was anything: problem is
// the last error of that.
func viewFailure(ctx context.Context, operation string, err, problem error) error {
	if err == nil {
		return nil
	}
	if again := notRendered(ctx, operation, err); again != nil {
		return again
	}
	switch {
	case errors.Is(problem, oci.ErrUnauthorized):
		reason, codes := repositoryReason(problem)
		return &kit.Failure{Kind: kit.Stalled, Operation: operation, Reason: reason, Codes: codes, Err: err}
	case problem == nil || fault.KindOf(problem) == fault.Stalled:
		return RenderFailure(operation, err)
	}
	return kit.Again(operation, "ContentNotRead", "%w", err)
}

// RenderingFailed is viewFailure for what templates saw, which is nil without component.
func RenderingFailed(ctx context.Context, shown *view.View, operation string, err error) error {
	return viewFailure(ctx, operation, err, shown.Problem())
}

// satisfyImports computes the values of the imports of the blueprint.
func (r *Reader) satisfyImports(ctx context.Context, in *Reading) error {
	env, shown, err := Environment(in.inst, &in.Inputs, in.clusters)
	if err != nil {
		return err
	}
	values, err := r.Rendering().Satisfy(ctx, env, &in.Imports.Values, in.inst.Spec.ImportDataMappings)
	if err != nil {
		return RenderingFailed(ctx, shown, jobs.SatisfyOperation, err)
	}
	in.Values, in.Env, in.Shown = values, env, shown
	return nil
}

// Rendering runs templates, in worker processes.
func (r *Reader) Rendering() *rendering.Renderer {
	r.rendering.Do(func() {
		if r.Renderer == nil {
			r.Renderer = rendering.New(confined.Limits{})
		}
	})
	return r.Renderer
}

// Environment is what the templates of an Installation see, and what they see of its component.
func Environment(inst *v1alpha1.Installation, in *Inputs, clusters *Issuer) (*render.Environment, *view.View, error) {
	definition, err := data.JSONLike(inst.Spec.Blueprint)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.blueprint: %w", err)
	}
	env := &render.Environment{
		Blueprint: in.Blueprint.Document, Files: in.Blueprint.files, Schemas: in.Blueprint.schemas,
		Namespace: inst.Namespace, BlueprintDefinition: definition,
	}
	if clusters != nil {
		clusters.reach = &in.Reach
		env.Clusters = clusters
	}
	shown, err := showComponent(env, in.Component)
	return env, shown, err
}

// notRendered says why rendering has to be tried again, nil when the templates themselves are to blame.
func notRendered(ctx context.Context, operation string, err error) error {
	var ended *confined.Ended
	switch {
	case ctx.Err() != nil:
		return err
	case errors.As(err, &ended) && ended.Reason == confined.Died, errors.Is(err, confined.ErrNotStarted):
		return kit.Again(operation, "RenderProcessEnded", "%w", err)
	}
	return nil
}

// RenderFailure says that a person has to change blueprint or imports.
func RenderFailure(operation string, err error) error {
	reason := "RenderFailed"
	if problem, ok := errors.AsType[*render.Error](err); ok {
		reason = problem.Reason
	}
	codes := []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}
	if _, ok := errors.AsType[*render.CycleError](err); ok {
		reason, codes = "CyclicDependencies", []v1alpha1.ErrorCode{v1alpha1.ErrorCyclicDependencies}
	}
	return &kit.Failure{Kind: kit.Stalled, Operation: operation, Reason: reason, Codes: codes, Err: err}
}
