// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// moveShard brings the DeployItems into the shard of the Execution.
func (r *Reconciler) moveShard(ctx context.Context, s *scope) error {
	move := func(item *v1alpha1.DeployItem) error {
		change := kit.FollowShard(s.execution, item)
		if change.Empty() {
			return nil
		}
		err := kit.PatchMetadata(ctx, r.Client, item, change)
		if err == nil {
			r.items.Wrote(item)
		}
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.items)) {
		if err := move(s.items[name]); err != nil {
			return err
		}
	}
	for _, item := range s.orphans {
		if err := move(item); err != nil {
			return err
		}
	}
	return nil
}
