// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// Render computes from its values what the job is going to make.
func (m *Maker) Render(ctx context.Context, p *Plan) error {
	if err := m.renderChildren(ctx, p); err != nil {
		return err
	}
	m.remember(p)
	return nil
}

// renderChildren renders deploy items and sub-installations. What the templates store is kept also when they fail.
func (m *Maker) renderChildren(ctx context.Context, p *Plan) error {
	previous, err := m.readState(ctx, p.Inst, deployState, p.env.Blueprint.DeployExecutions, p.env.Blueprint.SubinstallationExecutions)
	if err != nil {
		return err
	}
	rendered, problem := m.Inputs.Rendering().Plan(ctx, p.env, p.Values, previous)
	if err := m.writeState(ctx, p.Inst, deployState, previous, rendered.Stored); err != nil {
		return err
	}
	p.DeployItems, p.Subinstallations = rendered.DeployItems, rendered.Subinstallations
	p.Unknown = slices.Concat(p.Blueprint.Document.Unknown, rendered.Unknown)
	if problem != nil {
		return inputs.RenderingFailed(ctx, p.shown, jobs.RenderOperation, problem)
	}
	if err := p.Reach.CheckItems(ctx, m.Live, p.DeployItems); err != nil {
		return err
	}
	return p.Reach.CheckTemplates(p.Subinstallations)
}

// remembered is the content of a job with what it comes from, so that exports are computed with the values that the children were made from.
type remembered struct {
	blueprint *inputs.Blueprint
	component *inputs.Component
	content   *Content
	reach     inputs.Reach
}

// remember keeps the plan of the running job when it will be needed for exports.
func (m *Maker) remember(p *Plan) {
	if len(p.Inst.Spec.Exports.Data)+len(p.Inst.Spec.Exports.Targets) > 0 {
		m.kept.Keep(p.Inst, remembered{blueprint: p.Blueprint, component: p.Component, content: p.Content, reach: p.Reach}, p.Component,
			memory.Size(p.Content)+memory.Size(p.Reach.Targets)+p.Blueprint.Weight())
	}
}

// recall finds the plan of the running job.
func (m *Maker) recall(p *Plan) bool {
	kept, ok := m.kept.Recall(&p.Inputs, p.Inst)
	if ok {
		p.Content, p.Blueprint, p.Component, p.Reach = kept.content, kept.blueprint, kept.component, kept.reach
	}
	return ok
}
