// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package writing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// TestAFinalizerThatIsStrippedAgainAndAgainComesBackLaterAndLater has a client that removes the finalizer of an Installation as soon as it is there.
func TestAFinalizerThatIsStrippedAgainAndAgainComesBackLaterAndLater(t *testing.T) {
	inst := fixture.Working("root", "1", "job")
	inst.Status.ExecutionReference = &v1alpha1.ObjectReference{Namespace: inst.Namespace, Name: inst.Name}
	c := cluster.With(t, inst)
	w := &Writer{Client: c, Live: c, Recorder: &record.FakeRecorder{}, Written: &kit.Consistency{}, Restored: kit.NewRestorations()}
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	w.Restored.Clock = clock
	mend := func() (left time.Duration, isBack bool) {
		d := &Draft{Alarm: &jobs.Alarm{}, Inst: &v1alpha1.Installation{}, Now: clock.Now()}
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(inst), d.Inst))
		d.Inst.Finalizers = nil
		require.NoError(t, c.Update(t.Context(), d.Inst))
		require.NoError(t, w.Mend(t.Context(), d))
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(inst), d.Inst))
		return d.Requeue, len(d.Inst.Finalizers) > 0
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
