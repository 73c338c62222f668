// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// TestE09ItemsFollowTheShard during a job, items that have to go as well, and out of all shards.
func TestE09ItemsFollowTheShard(t *testing.T) {
	b := newBench(t, template("a", "t"), template("old", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.end("old", v1alpha1.PhaseSucceeded)
	b.settle()
	b.specify(template("a", "t"))
	b.start("2")
	require.NotNil(t, b.item("old").DeletionTimestamp)
	for _, shard := range []string{"one", ""} {
		execution := b.execution()
		if execution.Labels = nil; shard != "" {
			execution.Labels = map[string]string{protocol.ShardLabel: shard}
		}
		require.NoError(t, b.api.Update(t.Context(), execution))
		b.settle()
		for _, name := range []string{"a", "old"} {
			assert.Equal(t, shard, b.item(name).Labels[protocol.ShardLabel], name)
		}
		b.requireSteady()
	}
}
