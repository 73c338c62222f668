// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
)

// healsBelow reports whether an event of the cluster starts an Installation again whose sub-installations have failed.
func (r *Reconciler) healsBelow(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	if !jobs.MayHeal(inst) || !jobs.FollowsChanges(inst) {
		return false, nil
	}
	below, err := r.causesBelow(ctx, inst)
	return err == nil && jobs.HealTogether(below), err
}
