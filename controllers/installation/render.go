// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
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
	rendered, problem := r.Inputs.ChildRenderer().Plan(ctx, env, s.plan.values, previous)
	if err := r.writeState(ctx, s.inst, deployState, previous, rendered.Stored); err != nil {
		return err
	}
	s.plan.deployItems, s.plan.subinstallations = rendered.DeployItems, rendered.Subinstallations
	if problem != nil {
		return inputs.RenderingFailed(ctx, shown, jobs.RenderOperation, problem)
	}
	if err := s.Reach.CheckItems(ctx, r.Live, s.plan.deployItems); err != nil {
		return err
	}
	return s.Reach.CheckTemplates(s.plan.subinstallations)
}

// remembered is the plan of a job with what it comes from, so that exports are computed with the values that the children were made from.
type remembered struct {
	blueprint *inputs.Blueprint
	component *inputs.Component
	plan      *plan
	reach     inputs.Reach
}

// remember keeps the plan of the running job when it will be needed for exports.
func (r *Reconciler) remember(s *scope) {
	if len(s.inst.Spec.Exports.Data)+len(s.inst.Spec.Exports.Targets) > 0 {
		r.plans.Keep(s.inst, remembered{blueprint: s.Blueprint, component: s.Component, plan: s.plan, reach: s.Reach}, s.Component,
			memory.Size(s.plan)+memory.Size(s.Reach.Targets), s.Blueprint.Piece())
	}
}

// recall finds the plan of the running job.
func (r *Reconciler) recall(s *scope) bool {
	kept, ok := r.plans.Recall(&s.Inputs, s.inst)
	if ok {
		s.plan, s.Blueprint, s.Component, s.Reach = kept.plan, kept.blueprint, kept.component, kept.reach
	}
	return ok
}
