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
	for name, tc := range map[string]struct {
		before func(JobObject)
		cause  string
		reason string
		want   string
	}{
		"at work":                {at("at work"), "", meta.ProgressingReason, "at work"},
		"waiting for another":    {func(obj JobObject) { Progress(obj, "Waiting", "for another") }, "", "Waiting", "for another"},
		"first cause":            {at("at work"), "no route", meta.ProgressingWithRetryReason, "no route"},
		"the same cause":         {retriedFor("no route"), "no route", meta.ProgressingWithRetryReason, "no route"},
		"another cause":          {retriedFor("no route"), "no right", meta.ProgressingWithRetryReason, "no right"},
		"only a counter differs": {retriedFor("try 1: no route"), "try 2: no route", meta.ProgressingWithRetryReason, "try 1: no route"},
		"the cause is over":      {retriedFor("no route"), "", meta.ProgressingReason, "otherwise"},
		"a long cause":           {at("at work"), long, meta.ProgressingWithRetryReason, Message(long)},
		"the same long cause":    {retriedFor(long), long, meta.ProgressingWithRetryReason, Message(long)},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &v1alpha1.Execution{}
			tc.before(obj)
			ShowCause(obj, tc.cause, "otherwise")
			for _, condition := range []string{meta.ReconcilingCondition, meta.ReadyCondition} {
				assert.Equal(t, tc.reason, conditions.GetReason(obj, condition))
				assert.Equal(t, tc.want, conditions.GetMessage(obj, condition))
			}
		})
	}
}

func at(message string) func(JobObject) {
	return func(obj JobObject) { Progress(obj, meta.ProgressingReason, message) }
}

func retriedFor(message string) func(JobObject) {
	return func(obj JobObject) { Progress(obj, meta.ProgressingWithRetryReason, message) }
}

func TestRetryCauseIsNoneOfAnObjectThatHasFailedAndHeals(t *testing.T) {
	obj := &v1alpha1.Execution{}
	assert.Empty(t, RetryCause(obj))
	conditions.MarkReconciling(obj, "ImportNotFound", "an import is missing")
	assert.Empty(t, RetryCause(obj))
}
