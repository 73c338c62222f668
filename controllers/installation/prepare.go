// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// prepare gives all children the specs of the running job, unless they have them. It ends a job that would give them specs of two generations.
func (r *Reconciler) prepare(ctx context.Context, s *reconciliation) error {
	if jobs.Prepared(s.Inst, s.family.Execution, s.family.Children) {
		return nil
	}
	if s.family.IsOutdated() {
		return r.children.GiveWay(ctx, s.family)
	}
	if err := r.order.AwaitPredecessors(ctx, s.Inst); err != nil {
		return err
	}
	if err := r.plans.Read(ctx, s.plan); err != nil {
		return err
	}
	return kit.Through(ctx, s, r.makes())
}
