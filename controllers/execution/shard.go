// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// moveShard brings the DeployItems into the shard of the Execution, also while no job runs.
func (r *Reconciler) moveShard(ctx context.Context, s *scope) error {
	for _, item := range s.all {
		change := protocol.FollowShard(s.execution, item)
		if change.Empty() {
			continue
		}
		if err := protocol.PatchMetadata(ctx, r.Client, item, change); err != nil {
			return err
		}
		r.items.Wrote(item)
	}
	return nil
}
