// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/view"
)

// plan is what a job is going to make.
type plan struct {
	values      *render.Values
	deployItems []v1alpha1.DeployItemTemplate
	// subinstallations are the templates of the children.
	subinstallations []model.InstallationTemplate
}

// satisfyImports computes the values of the imports of the blueprint.
func (r *Reconciler) satisfyImports(ctx context.Context, in *reading) error {
	env, shown, err := environment(in.inst, &in.inputs, in.clusters)
	if err != nil {
		return err
	}
	values, err := r.renderer().Satisfy(ctx, env, &in.imports.values, in.inst.Spec.ImportDataMappings)
	if err != nil {
		return renderingFailed(ctx, shown, jobs.SatisfyOperation, err)
	}
	in.values, in.env, in.shown = values, env, shown
	return nil
}

// renderPlan computes from these values what the job is going to make.
func (r *Reconciler) renderPlan(ctx context.Context, s *scope) error {
	if err := r.renderChildren(ctx, s, s.env, s.shown); err != nil {
		return err
	}
	r.remember(s)
	return nil
}

// renderChildren renders deploy items and sub-installations. What the templates store is kept also when they fail.
func (r *Reconciler) renderChildren(ctx context.Context, s *scope, env *render.Environment, shown *view.View) error {
	previous, err := r.readState(ctx, s.inst, deployState, env.Blueprint.DeployExecutions, env.Blueprint.SubinstallationExecutions)
	if err != nil {
		return err
	}
	rendered, problem := r.renderer().Plan(ctx, env, s.plan.values, previous)
	if err := r.writeState(ctx, s.inst, deployState, previous, rendered.Stored); err != nil {
		return err
	}
	s.plan.deployItems, s.plan.subinstallations = rendered.DeployItems, rendered.Subinstallations
	if problem != nil {
		return renderingFailed(ctx, shown, jobs.RenderOperation, problem)
	}
	if err := r.checkItems(ctx, s); err != nil {
		return err
	}
	return s.reach.checkTemplates(s.plan.subinstallations)
}

// renderer runs templates in child processes.
func (r *Reconciler) renderer() *rendering.Renderer {
	r.rendering.Do(func() {
		if r.Renderer == nil {
			r.Renderer = rendering.New(confined.Limits{})
		}
	})
	return r.Renderer
}

// remembered is the plan of a job with what it comes from, so that exports are computed with the values that the children were made from.
type remembered struct {
	blueprint *loadedBlueprint
	component *resolvedComponent
	plan      *plan
	reach     reach
}

// remember keeps the plan of the running job when it will be needed for exports.
func (r *Reconciler) remember(s *scope) {
	if len(s.inst.Spec.Exports.Data)+len(s.inst.Spec.Exports.Targets) > 0 {
		r.plans.keep(s.inst, remembered{blueprint: s.blueprint, component: s.component, plan: s.plan, reach: s.reach}, s.component,
			memory.Size(s.plan)+memory.Size(s.reach.targets), s.blueprint.piece())
	}
}

// recall finds the plan of the running job.
func (r *Reconciler) recall(s *scope) bool {
	kept, ok := r.plans.recall(&s.inputs, s.inst)
	if ok {
		s.plan, s.blueprint, s.component, s.reach = kept.plan, kept.blueprint, kept.component, kept.reach
	}
	return ok
}

// environment is what the templates of an Installation see, and what they see of its component.
func environment(inst *v1alpha1.Installation, in *inputs, clusters *issuer) (*render.Environment, *view.View, error) {
	definition, err := data.JSONLike(inst.Spec.Blueprint)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.blueprint: %w", err)
	}
	env := &render.Environment{
		Blueprint: in.blueprint.document, Files: in.blueprint.files, Schemas: in.blueprint.schemas,
		Namespace: inst.Namespace, BlueprintDefinition: definition,
	}
	if clusters != nil {
		clusters.reach = &in.reach
		env.Clusters = clusters
	}
	shown, err := showComponent(env, in.component)
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

// renderFailure says that a person has to change blueprint or imports.
func renderFailure(operation string, err error) error {
	reason := "RenderFailed"
	var problem *render.Error
	if errors.As(err, &problem) {
		reason = problem.Reason
	}
	codes := []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}
	var cycle *render.CycleError
	if errors.As(err, &cycle) {
		reason, codes = "CyclicDependencies", []v1alpha1.ErrorCode{v1alpha1.ErrorCyclicDependencies}
	}
	return &kit.Failure{Kind: kit.Stalled, Operation: operation, Reason: reason, Codes: codes, Err: err}
}
