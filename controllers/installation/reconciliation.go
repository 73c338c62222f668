// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/force"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/writing"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// reconciliation is everything that one reconciliation has read and decided so far.
type reconciliation struct {
	*writing.Draft
	jitter kit.Jitter
	// begun has by Installation which job this process has begun, and when.
	begun *sync.Map

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

// begunJob is a job and when it has begun.
type begunJob struct {
	id string
	at time.Time
}

// newReconciliation begins a reconciliation.
func newReconciliation(inst *v1alpha1.Installation, now time.Time) *reconciliation {
	alarm := &jobs.Alarm{}
	return &reconciliation{
		begun:   &sync.Map{},
		Draft:   &writing.Draft{Alarm: alarm, Inst: inst, Persisted: inst.Status.DeepCopy(), Now: now},
		family:  &children.Family{Alarm: alarm, Inst: inst},
		plan:    &plan.Plan{Alarm: alarm, Inst: inst, Now: now},
		remains: force.Of(inst),
	}
}

// family makes a step of the children of an Installation one of the reconciliation.
func family(step kit.Step[*children.Family]) kit.Step[*reconciliation] {
	return func(ctx context.Context, s *reconciliation) error { return step(ctx, s.family) }
}

// planned makes a step of the plan of a job one of the reconciliation.
func planned(step kit.Step[*plan.Plan]) kit.Step[*reconciliation] {
	return func(ctx context.Context, s *reconciliation) error { return step(ctx, s.plan) }
}

// made makes a step that makes what is planned one of the reconciliation.
func made(step func(context.Context, *plan.Plan, *children.Family) error) kit.Step[*reconciliation] {
	return func(ctx context.Context, s *reconciliation) error { return step(ctx, s.plan, s.family) }
}

// draft makes a step that writes the Installation one of the reconciliation.
func draft(step kit.Step[*writing.Draft]) kit.Step[*reconciliation] {
	return func(ctx context.Context, s *reconciliation) error { return step(ctx, s.Draft) }
}

// remains makes a step of what is left of an Installation one of the reconciliation.
func remains(step kit.Step[*force.Remains]) kit.Step[*reconciliation] {
	return func(ctx context.Context, s *reconciliation) error { return step(ctx, s.remains) }
}
