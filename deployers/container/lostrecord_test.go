// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// TestAnItemThatHasLostItsStatusRunsItsContainerWhenItIsDeleted has only what the host cluster knows of the item to tell that it ran.
func TestAnItemThatHasLostItsStatusRunsItsContainerWhenItIsDeleted(t *testing.T) {
	s := serve(t)
	item := s.create(script(`[ "$OPERATION" = RECONCILE ]`))
	s.succeed(item)
	item.Status = v1alpha1.DeployItemStatus{}
	require.NoError(t, s.p.Client().Status().Update(t.Context(), item))
	require.NoError(t, s.p.Client().Delete(t.Context(), item))

	s.begin(item)
	s.ended(item)
	require.Equal(t, v1alpha1.PhaseDeleteFailed, item.Status.Phase)
	require.Contains(t, item.Status.LastError.Message, "container main of Pod")

	s.configure(item, script(`[ "$OPERATION" = DELETE ]`))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, s.p.AwaitGone(ctx, item))
	assert.Empty(t, s.left())
}
