// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestF08ARootHealsWhenAllThatFailedBelowDo(t *testing.T) {
	failed := func(name, operation, reason string) *v1alpha1.Installation {
		child := fixture.Working(name, name, "job")
		child.Status.JobIDFinished, child.Status.Phase = "job", v1alpha1.PhaseFailed
		child.Status.LastError = &v1alpha1.Error{Operation: operation, Reason: reason}
		return child
	}
	good := failed("good", "", "")
	good.Status.Phase, good.Status.LastError = v1alpha1.PhaseSucceeded, nil
	incomplete, follower := failed("a", ContextOperation, ReasonContextIncomplete), failed("b", OrderOperation, ReasonPredecessorFailed)
	refused := failed("e", RenderOperation, ReasonBeyondImports)
	broken, lost := failed("c", RenderOperation, "RenderFailed"), failed("d", "", "")
	lost.Status.LastError = nil
	for name, tc := range map[string]struct {
		below []*v1alpha1.Installation
		heals bool
	}{
		"nothing below":                     {},
		"one misses a part of its Context":  {[]*v1alpha1.Installation{good, incomplete}, true},
		"one wants more than its Context":   {[]*v1alpha1.Installation{good, incomplete, refused}, true},
		"another waits for it":              {[]*v1alpha1.Installation{incomplete, follower}, true},
		"another has failed for itself":     {[]*v1alpha1.Installation{incomplete, broken}, false},
		"another does not say why":          {[]*v1alpha1.Installation{incomplete, lost}, false},
		"one waits for one that is no more": {[]*v1alpha1.Installation{follower}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.heals, HealTogether(tc.below)) })
	}
}
