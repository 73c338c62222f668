// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// moveShard brings the Execution and the sub-installations into the shard of the Installation, also while no job runs: the controllers of the
// shard that they were in may not be there any more.
func (r *Reconciler) moveShard(ctx context.Context, s *scope) error {
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		change := kit.FollowShard(s.inst, s.children[name])
		if change.Empty() {
			continue
		}
		if err := kit.PatchMetadata(ctx, r.Client, s.children[name], change); err != nil {
			return err
		}
		r.installations.Wrote(s.children[name])
	}
	if s.execution == nil || kit.FollowShard(s.inst, s.execution).Empty() {
		return nil
	}
	if err := kit.PatchMetadata(ctx, r.Client, s.execution, kit.FollowShard(s.inst, s.execution)); err != nil {
		return err
	}
	r.executions.Wrote(s.execution)
	return nil
}
