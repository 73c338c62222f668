// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
)

// TestAFinalizerThatIsStrippedAgainAndAgainComesBackLaterAndLater has a client that removes the finalizer of an Installation as soon as it is there.
func TestAFinalizerThatIsStrippedAgainAndAgainComesBackLaterAndLater(t *testing.T) {
	inst := fixture.Working("root", "1", "job")
	inst.Status.ExecutionReference = &v1alpha1.ObjectReference{Namespace: inst.Namespace, Name: inst.Name}
	r := with(t, inst)
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	r.restored.Clock = clock
	mend := func() (left time.Duration, isBack bool) {
		s := &scope{inst: &v1alpha1.Installation{}, now: clock.Now()}
		require.NoError(t, r.Get(t.Context(), client.ObjectKeyFromObject(inst), s.inst))
		s.inst.Finalizers = nil
		require.NoError(t, r.Update(t.Context(), s.inst))
		require.NoError(t, r.mendMetadata(t.Context(), s))
		require.NoError(t, r.Get(t.Context(), client.ObjectKeyFromObject(inst), s.inst))
		return s.Requeue, len(s.inst.Finalizers) > 0
	}
	var pauses []time.Duration
	for range 3 {
		_, isBack := mend()
		require.True(t, isBack)
		pause, isBack := mend()
		require.False(t, isBack)
		pauses = append(pauses, pause)
		clock.Step(pause)
	}
	assert.Equal(t, []time.Duration{15 * time.Second, 30 * time.Second, time.Minute}, pauses)
}
