// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/force"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/writing"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// scope is everything that one reconciliation has read and decided so far.
type scope struct {
	*writing.Draft
	jitter kit.Jitter

	family *children.Family
	plan   *plan.Plan
	// asked says that the operation annotation asks for a job.
	asked bool
	// automatic says that the clock started the job of this reconciliation.
	automatic bool
	// triggered says why a job was started in this reconciliation; "" when none was.
	triggered string
	// remains is what a deletion by force has found.
	remains *force.Remains
}

// newScope begins a reconciliation.
func newScope(inst *v1alpha1.Installation, now time.Time) *scope {
	alarm := &jobs.Alarm{}
	return &scope{
		Draft:   &writing.Draft{Alarm: alarm, Inst: inst, Persisted: inst.Status.DeepCopy(), Now: now},
		family:  &children.Family{Alarm: alarm, Inst: inst},
		plan:    &plan.Plan{Alarm: alarm, Inst: inst, Now: now},
		remains: force.Of(inst),
	}
}

// family makes a phase of the children of an Installation one of the reconciliation.
func family(phase kit.Phase[*children.Family]) kit.Phase[*scope] {
	return func(ctx context.Context, s *scope) error { return phase(ctx, s.family) }
}

// planned makes a phase of the plan of a job one of the reconciliation.
func planned(phase kit.Phase[*plan.Plan]) kit.Phase[*scope] {
	return func(ctx context.Context, s *scope) error { return phase(ctx, s.plan) }
}

// made makes a phase that makes what is planned one of the reconciliation.
func made(phase func(context.Context, *plan.Plan, *children.Family) error) kit.Phase[*scope] {
	return func(ctx context.Context, s *scope) error { return phase(ctx, s.plan, s.family) }
}

// draft makes a phase that writes the Installation one of the reconciliation.
func draft(phase kit.Phase[*writing.Draft]) kit.Phase[*scope] {
	return func(ctx context.Context, s *scope) error { return phase(ctx, s.Draft) }
}

// remains makes a phase of what is left of an Installation one of the reconciliation.
func remains(phase kit.Phase[*force.Remains]) kit.Phase[*scope] {
	return func(ctx context.Context, s *scope) error { return phase(ctx, s.remains) }
}
