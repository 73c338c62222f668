// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// prepare gives all children the specs of the running job, unless they have them. It ends a job that would give them specs of two generations.
func (r *Reconciler) prepare(ctx context.Context, s *scope) error {
	if jobs.Prepared(s.inst, s.execution) {
		return nil
	}
	if s.isOutdated() {
		return r.giveWay(ctx, s)
	}
	if err := r.awaitPredecessors(ctx, s); err != nil {
		return err
	}
	found, err := r.Inputs.Read(ctx, s.inst, s.now, s.clusters)
	s.adopt(found)
	if err != nil {
		return err
	}
	return kit.Through(ctx, s, r.makes())
}
