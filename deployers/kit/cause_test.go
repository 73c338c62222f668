// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

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
