// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// TestAFinalizerThatIsStrippedAgainAndAgainComesBackLaterAndLater has a client that removes the finalizer of an Installation as soon as it is there.
func TestAFinalizerThatIsStrippedAgainAndAgainComesBackLaterAndLater(t *testing.T) {
	inst := fixture.Working("root", "1", "job")
	inst.Status.ExecutionReference = &v1alpha1.ObjectReference{Namespace: inst.Namespace, Name: inst.Name}
	w := with(t, inst)
	c := w.Client
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	w.restored.Clock = clock
	mend := func() (left time.Duration, isBack bool) {
		d := &scope{inst: &v1alpha1.Installation{}, now: clock.Now()}
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(inst), d.inst))
		d.inst.Finalizers = nil
		require.NoError(t, c.Update(t.Context(), d.inst))
		require.NoError(t, w.mend(t.Context(), d))
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(inst), d.inst))
		return d.requeue, len(d.inst.Finalizers) > 0
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

func TestNoJobFollowsWhileOneRuns(t *testing.T) {
	d := ending()
	conditions.MarkTrue(d.inst, jobs.ChangedDuringJobCondition, jobs.ReasonAnotherJob, "%s", jobs.ChangedMessage)
	d.outcome = nil
	require.NoError(t, (&Reconciler{}).queueNext(t.Context(), d))
	assert.Equal(t, "job", d.inst.Status.JobID)
}

func TestEachJobLeavesALineAndAnEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		say         func(ctx context.Context, w *Reconciler, d *scope)
		line, event string
	}{
		"a success": {func(ctx context.Context, w *Reconciler, d *scope) {
			d.inst.Status.Phase = v1alpha1.PhaseSucceeded
			d.outcome = &outcome{message: "Deployed 2 items", took: 1400 * time.Millisecond}
			w.announce(ctx, d)
		}, `"result"="Succeeded" "reason"="ReconciliationSucceeded"`, "Normal ReconciliationSucceeded Deployed 2 items"},
		"a failure": {func(ctx context.Context, w *Reconciler, d *scope) {
			d.inst.Status.Phase = v1alpha1.PhaseFailed
			d.outcome = &outcome{failure: &protocol.Failure{Reason: "RenderFailed", Err: assert.AnError}, took: 1400 * time.Millisecond}
			w.announce(ctx, d)
		}, `"result"="Failed" "reason"="RenderFailed"`, "Warning RenderFailed " + assert.AnError.Error()},
		"an uninstall": {func(ctx context.Context, w *Reconciler, d *scope) {
			w.announceRelease(ctx, d, 1400*time.Millisecond)
		}, `"result"="Deleted" "reason"="UninstallSucceeded"`, "Normal UninstallSucceeded Uninstalled main@sha1:3e4d0b68 in 1.4s"},
		"a deletion that keeps": {func(ctx context.Context, w *Reconciler, d *scope) {
			d.inst.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan
			w.announceRelease(ctx, d, 1400*time.Millisecond)
		}, `"result"="Deleted" "reason"="UninstallSucceeded"`, "Normal UninstallSucceeded Deleted without uninstall in 1.4s"},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
			events := record.NewFakeRecorder(2)
			d := ending()
			d.inst.Name, d.inst.Status.JobID, d.inst.Status.JobIDFinished = "root", "job", "job"
			d.inst.Status.LastAttemptedRevision, d.inst.Status.LastAppliedRevision = "main@sha1:3e4d0b68aaaa", "main@sha1:3e4d0b68aaaa"
			tc.say(logr.NewContext(t.Context(), logger), &Reconciler{Recorder: events, related: &relations.Finder{}}, d)
			require.Len(t, lines, 1)
			assert.Contains(t, lines[0], `"msg"="job ended" "root"="root" "job"="job" "revision"="main@sha1:3e4d0b68aaaa" "duration"="1.4s" `+tc.line)
			require.Len(t, events.Events, 1)
			assert.Contains(t, <-events.Events, tc.event)
		})
	}
}

func TestE06EachInstallationHasItsOwnGrace(t *testing.T) {
	begin, begun := time.Unix(1000, 0), &sync.Map{}
	begun.Store(client.ObjectKeyFromObject(fixture.Working("a", "1", "job")), begunJob{"job", begin})
	for name, tc := range map[string]struct {
		inst *v1alpha1.Installation
		over bool
	}{
		"the one that began":         {fixture.Working("a", "1", "job"), true},
		"a sibling in the same job":  {fixture.Working("b", "2", "job"), false},
		"its successor of that name": {fixture.Working("a", "3", "its job"), false},
		"another job":                {fixture.Working("a", "1", "next"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(tc.inst, begin.Add(inputs.ImportGrace))
			s.begun = begun
			assert.Equal(t, tc.over, s.took() >= inputs.ImportGrace)
		})
	}
}
