// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestDueByClock(t *testing.T) {
	ended := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	after := func(d time.Duration) *v1alpha1.Duration { return &v1alpha1.Duration{Duration: d} }
	tries := func(n int32) *int32 { return &n }
	failed := func(config v1alpha1.FailedReconcile, counted int32) func(*v1alpha1.Installation) {
		return func(inst *v1alpha1.Installation) {
			inst.Status.Phase, inst.Spec.AutomaticReconcile = v1alpha1.PhaseFailed, &v1alpha1.AutomaticReconcile{FailedReconcile: &config}
			inst.Status.AutomaticReconcileStatus = &v1alpha1.AutomaticReconcileStatus{Generation: 1, OnFailed: true, NumberOfReconciles: counted}
		}
	}
	succeeded := func(config v1alpha1.SucceededReconcile, change ...func(*v1alpha1.Installation)) func(*v1alpha1.Installation) {
		return func(inst *v1alpha1.Installation) {
			inst.Status.Phase, inst.Spec.AutomaticReconcile = v1alpha1.PhaseSucceeded, &v1alpha1.AutomaticReconcile{SucceededReconcile: &config}
			for _, c := range change {
				c(inst)
			}
		}
	}
	hourly := v1alpha1.SucceededReconcile{Interval: after(time.Hour)}
	for name, tc := range map[string]struct {
		configure func(*v1alpha1.Installation)
		now       time.Duration
		due       bool
		wake      time.Duration
	}{
		"nothing asked for":               {func(inst *v1alpha1.Installation) { inst.Status.Phase = v1alpha1.PhaseSucceeded }, time.Hour, false, 0},
		"before the interval is over":     {succeeded(hourly), time.Minute, false, 59 * time.Minute},
		"at the end of the interval":      {succeeded(hourly), time.Hour, true, 0},
		"the standard interval":           {succeeded(v1alpha1.SucceededReconcile{}), time.Hour, false, 23 * time.Hour},
		"by a schedule":                   {succeeded(v1alpha1.SucceededReconcile{CronSpec: "0 4 * * *"}), time.Minute, false, 55 * time.Minute},
		"by a schedule, at its instant":   {succeeded(v1alpha1.SucceededReconcile{CronSpec: "0 4 * * *"}), 56 * time.Minute, true, 0},
		"a schedule that is none":         {succeeded(v1alpha1.SucceededReconcile{CronSpec: "often"}), 100 * time.Hour, false, 0},
		"an interval of nothing":          {succeeded(v1alpha1.SucceededReconcile{Interval: after(0)}), 100 * time.Hour, false, 0},
		"hardly any interval":             {succeeded(v1alpha1.SucceededReconcile{Interval: after(1)}), time.Second, false, shortestInterval - time.Second},
		"hardly any between retries":      {failed(v1alpha1.FailedReconcile{Interval: after(1)}, 1), time.Second, false, shortestInterval - time.Second},
		"suspended":                       {succeeded(hourly, func(inst *v1alpha1.Installation) { inst.Spec.Suspend = true }), time.Hour, false, 0},
		"ended while the clock was wrong": {succeeded(hourly), -1000 * time.Hour, true, 0},
		"by a schedule, the same":         {succeeded(v1alpha1.SucceededReconcile{CronSpec: "0 4 * * *"}), -1000 * time.Hour, true, 0},
		"a retry, the same":               {failed(v1alpha1.FailedReconcile{Interval: after(time.Minute)}, 1), -1000 * time.Hour, true, 0},
		"the clock differs a little":      {succeeded(hourly), -time.Minute, false, 61 * time.Minute},
		"a newer spec":                    {succeeded(hourly, func(inst *v1alpha1.Installation) { inst.Generation++ }), time.Hour, false, 0},
		"a sub-installation":              {succeeded(hourly, fixture.Nest), time.Hour, false, 0},
		"first retry at once":             {failed(v1alpha1.FailedReconcile{}, 0), 0, true, 0},
		"second retry by the interval":    {failed(v1alpha1.FailedReconcile{Interval: after(time.Minute)}, 1), 0, false, time.Minute},
		"second retry by standard":        {failed(v1alpha1.FailedReconcile{}, 1), time.Minute, false, 4 * time.Minute},
		"all retries used up":             {failed(v1alpha1.FailedReconcile{NumberOfReconciles: tries(2)}, 2), time.Hour, false, 0},
		"only success is asked for":       {succeeded(hourly, func(inst *v1alpha1.Installation) { inst.Status.Phase = v1alpha1.PhaseFailed }), time.Hour, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root", Generation: 1}}
			inst.Status.ObservedGeneration = 1
			inst.Status.TransitionTimes = &v1alpha1.TransitionTimes{FinishedTime: &metav1.Time{Time: ended}}
			tc.configure(inst)
			s := newScope(inst, ended.Add(tc.now))
			assert.Equal(t, tc.due, s.dueByClock())
			assert.Equal(t, tc.due, s.automatic)
			assert.Equal(t, tc.wake, s.requeue)
		})
	}
}

func TestRetriesOfTheClockAreCountedAndAnnounced(t *testing.T) {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root", Generation: 1}}
	inst.Spec.AutomaticReconcile = &v1alpha1.AutomaticReconcile{FailedReconcile: &v1alpha1.FailedReconcile{}}
	inst.Status.ObservedGeneration = 1
	begin := time.Unix(1000, 0)
	for try := range int32(3) {
		s := newScope(inst, begin.Add(time.Duration(try)*time.Hour))
		if try > 0 {
			assert.True(t, s.dueByClock())
			assert.Equal(t, "automatic retry after a failure", s.clockReason())
		}
		s.start("job", "test")
		s.fail(&protocol.Failure{Kind: protocol.Stalled, Operation: jobs.Operation, Reason: "DeployItemFailed", Err: assert.AnError})
		if try > 0 {
			assert.Equal(t, try, inst.Status.AutomaticReconcileStatus.NumberOfReconciles)
		}
		assert.Contains(t, conditions.GetMessage(inst, meta.ReconcilingCondition), "tried again at ")
	}
	s := newScope(inst, begin.Add(9*time.Hour))
	s.start("next", "somebody asked")
	assert.Nil(t, inst.Status.AutomaticReconcileStatus)
}
