// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// retried is a failure that is tried again.
func retried(reason, message string) *Failure {
	return &Failure{Operation: "Reconcile", Reason: reason, Err: errors.New(message)}
}

func TestE01TryAgainWritesNothingNewWhileOnlyTheWordsChange(t *testing.T) {
	begun := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		failure *Failure
		after   time.Duration
		message string
	}{
		"the same":              {retried("Forbidden", "used: 1"), time.Hour, "used: 1"},
		"other words":           {retried("Forbidden", "used: 2"), time.Second, "used: 1"},
		"other words, long ago": {retried("Forbidden", "used: 2"), 2 * time.Minute, "used: 2"},
		"another reason":        {retried("NotFound", "used: 2"), time.Second, "used: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			TryAgain(inst, retried("Forbidden", "used: 1"), begun)
			before := inst.Status.DeepCopy()
			TryAgain(inst, c.failure, begun.Add(c.after))
			require.NotNil(t, inst.Status.LastError)
			assert.Equal(t, c.message, inst.Status.LastError.Message)
			assert.Equal(t, c.message, conditions.GetMessage(inst, meta.ReadyCondition))
			if c.message == "used: 1" {
				assert.Equal(t, before, &inst.Status)
			}
		})
	}
}

func TestTryAgainOfAlternatingCausesWritesLessAndLess(t *testing.T) {
	begun := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	elsewhere := retried("Forbidden", "quota")
	elsewhere.Operation = "Other"
	for name, causes := range map[string][]*Failure{
		"reasons":    {retried("Forbidden", "quota"), retried("NotFound", "namespace")},
		"operations": {retried("Forbidden", "quota"), elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			changes := 0
			for i := range 6000 {
				before := inst.Status.DeepCopy()
				TryAgain(inst, causes[i%2], begun.Add(time.Duration(i)*100*time.Millisecond))
				if !equality.Semantic.DeepEqual(before, &inst.Status) {
					changes++
				}
			}
			assert.LessOrEqual(t, changes, 20, "in ten minutes")
			assert.GreaterOrEqual(t, changes, 10, "a new cause is shown in the end")
		})
	}
}

func TestTryAgainReplacesWhatWasShownWhileTheClockWasWrong(t *testing.T) {
	inst, now := &v1alpha1.Installation{}, time.Unix(10000, 0)
	TryAgain(inst, retried("Forbidden", "used: 1"), now.Add(1000*time.Hour))
	TryAgain(inst, retried("Forbidden", "used: 2"), now)
	assert.Equal(t, "used: 2", inst.Status.LastError.Message)
}

func TestTryAgainShowsACauseAfterProgressAtOnce(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	inst := &v1alpha1.Installation{}
	TryAgain(inst, &Failure{Operation: "Reconcile", Reason: "Progressing", Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorForInfoOnly}, Err: errors.New("unfinished")}, now)
	inst.Status.LastError.LastUpdateTime = metav1.NewTime(now.Add(time.Minute))
	TryAgain(inst, retried("NotFound", "namespace"), now.Add(time.Minute+time.Second))
	assert.Equal(t, "namespace", inst.Status.LastError.Message)
}

func TestFailAgainForTheSameCauseWritesNothing(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(*v1alpha1.Installation)
		cause  string
		same   bool
	}{
		"the same":            {func(*v1alpha1.Installation) {}, "too long", true},
		"another cause":       {func(*v1alpha1.Installation) {}, "too short", false},
		"another job":         {func(i *v1alpha1.Installation) { i.Status.JobID = "2" }, "too long", false},
		"a success meanwhile": {func(i *v1alpha1.Installation) { Succeed(i, "done", now) }, "too long", false},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			Begin(inst, "1", v1alpha1.PhaseProgressing, now)
			assert.True(t, Fail(inst, retried("Invalid", "too long"), now))
			c.change(inst)
			before := inst.Status.DeepCopy()
			assert.Equal(t, !c.same, Fail(inst, retried("Invalid", c.cause), now.Add(time.Hour)))
			assert.Equal(t, c.same, equality.Semantic.DeepEqual(before, &inst.Status))
			assert.True(t, inst.Status.IsIdle())
		})
	}
}

func TestShowCause(t *testing.T) {
	long := strings.Repeat("x", 2*MaxMessage)
	retry := func(message string) Cause { return Cause{meta.ProgressingWithRetryReason, message} }
	waits := func(message string) Cause { return Cause{ReasonWaiting, message} }
	for name, tc := range map[string]struct {
		before func(JobObject)
		cause  Cause
		reason string
		want   string
	}{
		"at work":                {at("at work"), Cause{}, meta.ProgressingReason, "at work"},
		"in deletion":            {shown(Cause{ReasonDeleting, "being deleted"}), Cause{}, ReasonDeleting, "being deleted"},
		"first cause":            {at("at work"), retry("no route"), meta.ProgressingWithRetryReason, "no route"},
		"first wait":             {at("at work"), waits("for a Job"), ReasonWaiting, "for a Job"},
		"the same cause":         {shown(retry("no route")), retry("no route"), meta.ProgressingWithRetryReason, "no route"},
		"another cause":          {shown(retry("no route")), retry("no right"), meta.ProgressingWithRetryReason, "no right"},
		"another reason":         {shown(retry("no route")), waits("no route"), ReasonWaiting, "no route"},
		"only a counter differs": {shown(retry("try 1: no route")), retry("try 2: no route"), meta.ProgressingWithRetryReason, "try 1: no route"},
		"the cause is over":      {shown(retry("no route")), Cause{}, meta.ProgressingReason, "otherwise"},
		"the wait is over":       {shown(waits("for a Job")), Cause{}, meta.ProgressingReason, "otherwise"},
		"a long cause":           {at("at work"), retry(long), meta.ProgressingWithRetryReason, Message(long)},
		"the same long cause":    {shown(retry(long)), retry(long), meta.ProgressingWithRetryReason, Message(long)},
	} {
		t.Run(name, func(t *testing.T) {
			obj := atJob()
			tc.before(obj)
			ShowCause(obj, tc.cause, "otherwise")
			for _, condition := range []string{meta.ReconcilingCondition, meta.ReadyCondition} {
				assert.Equal(t, tc.reason, conditions.GetReason(obj, condition))
				assert.Equal(t, tc.want, conditions.GetMessage(obj, condition))
			}
		})
	}
}

func atJob() *v1alpha1.Execution {
	obj := &v1alpha1.Execution{}
	obj.Status.JobID = "job"
	return obj
}

func at(message string) func(JobObject) { return shown(Cause{meta.ProgressingReason, message}) }

func shown(cause Cause) func(JobObject) {
	return func(obj JobObject) { Progress(obj, cause.Reason, cause.Message) }
}

func TestAnObjectThatHasFailedAndHealsHasNoCause(t *testing.T) {
	obj := atJob()
	assert.Zero(t, CauseOf(obj))
	obj.Status.JobIDFinished = "job"
	conditions.MarkReconciling(obj, "ImportNotFound", "an import is missing")
	assert.Zero(t, CauseOf(obj))
}
