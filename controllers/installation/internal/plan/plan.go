// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan turns what a job works with into what it makes: deploy items, sub-installations and exports, with the state that templates keep. It
// knows neither when a job starts nor what becomes of what it has planned. It promises nothing to others.
package plan

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/view"
)

// Maker makes the plans of jobs.
type Maker struct {
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Metadata reads Secrets from the cache of metadata; Client would ask the API server.
	Metadata client.Reader
	// Inputs reads what jobs work with.
	Inputs *inputs.Reader

	states kit.Consistency
	// kept are the plans of running jobs.
	kept inputs.JobMemory[remembered]
}

// Plan is what a reconciliation has read for the job of an Installation, and what it makes of that.
type Plan struct {
	*jobs.Alarm
	Inst *v1alpha1.Installation
	Now  time.Time
	// Clusters issues kubeconfigs to templates; nil where the process does not.
	Clusters *inputs.Issuer

	inputs.Inputs
	// env is what the templates see, shown what they see of the component.
	env   *render.Environment
	shown *view.View
	// Content has only values when nothing is left to make; it is nil until the inputs have been read.
	*Content
}

// Content is what a job is going to make.
type Content struct {
	Values      *render.Values
	DeployItems []v1alpha1.DeployItemTemplate
	// Subinstallations are the templates of the children.
	Subinstallations []model.InstallationTemplate
	// Unknown are keys without effect in the blueprint and in what its templates made.
	Unknown []document.Key
}

// Read reads what the running job works with.
func (m *Maker) Read(ctx context.Context, p *Plan) error {
	return m.read(ctx, p, p.Inst)
}

// read enters what it finds into the status of inst.
func (m *Maker) read(ctx context.Context, p *Plan, inst *v1alpha1.Installation) error {
	in, err := m.Inputs.Read(ctx, inst, p.Now, p.Clusters)
	p.adopt(in)
	return err
}

// adopt makes what was read that of the Plan, which gives its components back.
func (p *Plan) adopt(in *inputs.Reading) {
	in.Borrowed = append(in.Borrowed, p.Borrowed...)
	p.Inputs, p.env, p.shown = in.Inputs, in.Env, in.Shown
	if in.Values != nil {
		p.Content = &Content{Values: in.Values}
	}
	p.Wake(in.Requeue)
}

// Forget drops everything that is kept of the job of an Installation: it is over, or the Installation is gone.
func (m *Maker) Forget(key types.NamespacedName) {
	m.kept.Drop(key)
	m.Inputs.Forget(key)
}

// Seen notes that the cache shows a Secret by now, or does not show it any more.
func (m *Maker) Seen(kind string, object client.Object) {
	if kind == "Secret" {
		m.states.Stale(object)
	}
}
