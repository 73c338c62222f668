// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestE08ASourceThatIsTriedAgainChangesNoStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Reconciler{Backoff: queue.NewBackoff(time.Second, time.Minute)}
		s := newScope(&v1alpha1.Installation{}, time.Unix(1, 0))
		first, final := r.absorb(s, inputs.UnreadSource{Cause: io.ErrUnexpectedEOF})
		assert.True(t, final)
		time.Sleep(first.RequeueAfter)
		second, _ := r.absorb(s, inputs.UnreadSource{Cause: io.ErrUnexpectedEOF})
		assert.Greater(t, second.RequeueAfter, first.RequeueAfter)
		assert.Empty(t, s.inst.Status)
	})
}

func TestShowPending(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Installation)
		want   string
	}{
		"edited, follows nothing":  {func(inst *v1alpha1.Installation) { inst.Generation++ }, protocol.ReasonNotTriggered},
		"edited, follows changes":  {func(inst *v1alpha1.Installation) { fixture.Following(inst); inst.Generation++ }, "Before"},
		"edited sub-installation":  {func(inst *v1alpha1.Installation) { fixture.Nest(inst); inst.Generation++ }, "Before"},
		"suspended, with a result": {func(inst *v1alpha1.Installation) { inst.Spec.Suspend = true; inst.Generation++ }, meta.ReconciliationSucceededReason},
		"suspended, never started": {func(inst *v1alpha1.Installation) {
			inst.Spec.Suspend = true
			inst.Status = v1alpha1.InstallationStatus{}
		}, protocol.ReasonSuspended},
		"the edit was taken back":       {func(inst *v1alpha1.Installation) { protocol.Pending(inst, protocol.ReasonNotTriggered, "pending") }, meta.ReconciliationSucceededReason},
		"the suspension was taken back": {func(inst *v1alpha1.Installation) { protocol.Pending(inst, protocol.ReasonSuspended, "pending") }, meta.ReconciliationSucceededReason},
		"the result was a failure": {func(inst *v1alpha1.Installation) {
			protocol.Pending(inst, protocol.ReasonNotTriggered, "pending")
			inst.Status.Phase, inst.Status.LastError = v1alpha1.PhaseFailed, &v1alpha1.Error{Reason: "RenderFailed", Message: "boom"}
		}, "RenderFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root"}}
			inst.Status.Phase, inst.Status.JobID = v1alpha1.PhaseSucceeded, "a"
			conditions.MarkTrue(inst, meta.ReadyCondition, "Before", "as it was")
			tc.change(inst)
			(newScope(inst, time.Time{})).showPending()
			assert.Equal(t, tc.want, conditions.GetReason(inst, meta.ReadyCondition))
		})
	}
}

func TestAJobStartsWithoutTheChangesOfTheFormer(t *testing.T) {
	s := newScope(fixture.WithJobs("job", "job"), time.Time{})
	s.noteChange()
	s.start("next", "test")
	assert.False(t, conditions.Has(s.inst, jobs.ChangedDuringJobCondition))
}

// TestAnErrorOfItsOwnHoldsAJobUp is about what an interruption ends at once: nobody below can, when the children have ended the job.
func TestAnErrorOfItsOwnHoldsAJobUp(t *testing.T) {
	own := &v1alpha1.Error{Operation: "ConstructExports", Reason: "Forbidden"}
	below := &v1alpha1.Error{Operation: jobs.Unfinished.Operation, Reason: jobs.Unfinished.Reason}
	for name, c := range map[string]struct {
		last *v1alpha1.Error
		runs bool
		want bool
	}{
		"its own error":                      {last: own, want: true},
		"its own error beside running items": {last: own, runs: true},
		"items at work":                      {last: below, runs: true},
		"items have just ended":              {last: below},
		"no error":                           {},
	} {
		execution := &v1alpha1.Execution{}
		execution.Status.JobID, execution.Status.JobIDFinished = "a", "a"
		if c.runs {
			execution.Status.JobIDFinished = ""
		}
		inst := &v1alpha1.Installation{}
		inst.Status.LastError = c.last
		s := newScope(inst, time.Time{})
		s.execution = execution
		assert.Equal(t, c.want, s.isHeldUp(), name)
	}
}
