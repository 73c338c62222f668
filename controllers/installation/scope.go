// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/force"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/view"
)

// scope is everything that one reconciliation has read and decided so far.
type scope struct {
	inst      *v1alpha1.Installation
	persisted *v1alpha1.InstallationStatus
	now       time.Time
	jitter    kit.Jitter

	execution *v1alpha1.Execution
	// foreign says that somebody else's Execution has the name that ours would have.
	foreign bool
	// children are the sub-installations by object name.
	children map[string]*v1alpha1.Installation
	// asked says that the operation annotation asks for a job.
	asked bool
	// automatic says that the clock started the job of this reconciliation.
	automatic bool
	// triggered says why a job was started in this reconciliation; "" when none was.
	triggered string
	// started is the status right after that.
	started *v1alpha1.InstallationStatus
	// clusters issues kubeconfigs to templates; nil where the process does not.
	clusters *inputs.Issuer
	// remains is what a deletion by force has found.
	remains *force.Remains
	// outcome is set when the running job ended in this reconciliation.
	outcome *outcome

	inputs.Alarm
	inputs.Inputs
	// env is what the templates see, shown what they see of the component.
	env   *render.Environment
	shown *view.View
	// plan is what the job makes; only its values are there when nothing is left to make.
	plan *plan
}

// adopt makes what was read that of the reconciliation, which gives its components back.
func (s *scope) adopt(in *inputs.Reading) {
	in.Borrowed = append(in.Borrowed, s.Borrowed...)
	s.Inputs, s.env, s.shown = in.Inputs, in.Env, in.Shown
	if in.Values != nil {
		s.plan = &plan{values: in.Values}
	}
	s.Wake(in.Requeue)
}

// remains makes a phase of what is left of an Installation one of the reconciliation.
func remains(phase kit.Phase[*force.Remains]) kit.Phase[*scope] {
	return func(ctx context.Context, s *scope) error { return phase(ctx, s.remains) }
}
