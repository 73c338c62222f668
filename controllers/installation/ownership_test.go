// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestT01ARefusalIsWrittenOnce(t *testing.T) {
	r := with(t)
	s := newScope(fixture.Node("child", "child"), time.Time{})
	err := r.checkOwner(t.Context(), s)
	var failure *protocol.Failure
	require.ErrorAs(t, err, &failure)
	s.inst.Status.LastError = &v1alpha1.Error{Reason: failure.Reason, Message: failure.Error()}
	require.ErrorIs(t, r.checkOwner(t.Context(), s), protocol.ErrStop)
	s.inst.Status.JobID = "running"
	assert.ErrorAs(t, r.checkOwner(t.Context(), s), &failure, "a running job still has to end")
}

// TestT01ACircleIsNoWayDown has a tree in which nobody whom the parent does not list is asked for what ails it.
func TestT01ACircleIsNoWayDown(t *testing.T) {
	root, child, forged := fixture.Node("a", "", "b"), fixture.Node("b", "a", "a"), fixture.Node("c", "a")
	for _, inst := range []*v1alpha1.Installation{root, child, forged} {
		inst.Status.Phase, inst.Status.LastError = v1alpha1.PhaseFailed, &v1alpha1.Error{Reason: jobs.ReasonChildrenFailed}
	}
	root.OwnerReferences = fixture.Node("a", "b").OwnerReferences
	reason, err := with(t, root, child, forged).changedContext(t.Context(), root)
	require.NoError(t, err)
	assert.Empty(t, reason)
}
