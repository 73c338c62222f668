// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"slices"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestDeletionJob(t *testing.T) {
	for name, c := range map[string]struct {
		inst, parent *v1alpha1.Installation
		want         string // "" is a new one
	}{
		"of a root":                     {fixture.WithJobs("a", "a"), nil, ""},
		"the parent is at work":         {fixture.Nested("a", "a", "a"), fixture.WithJobs("b", "a"), "b"},
		"the parent is idle":            {fixture.Nested("a", "a", "a"), fixture.WithJobs("b", "b"), ""},
		"the parent is gone":            {fixture.Nested("a", "a", "a"), nil, ""},
		"it has ended the parent's job": {fixture.Nested("a", "a", "a"), fixture.WithJobs("a", "z"), ""},
		"it has begun the parent's job": {fixture.Nested("a", "a", "z"), fixture.WithJobs("a", "z"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := DeletionJob(c.inst, c.parent)
			if c.want != "" {
				assert.Equal(t, c.want, job)
				return
			}
			assert.NotContains(t, []string{"", "a", "b"}, job)
		})
	}
}

func TestCauses(t *testing.T) {
	root := func(change ...func(*v1alpha1.Installation)) *v1alpha1.Installation {
		inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root", Generation: 2}}
		inst.Status.ObservedGeneration = 2
		for _, c := range change {
			c(inst)
		}
		return inst
	}
	follows := func(inst *v1alpha1.Installation) { fixture.Following(inst) }
	edited := func(inst *v1alpha1.Installation) { inst.Generation++ }
	inGit := func(inst *v1alpha1.Installation) {
		fixture.Operate(inst)
		conditions.MarkTrue(inst, OperationInGitCondition, protocol.ReasonLoopGuard, "it comes with every sync")
	}
	always := []Cause{ImportedContent, Request, ClearWay, FreeExports}
	for name, tc := range map[string]struct {
		inst *v1alpha1.Installation
		want []Cause
	}{
		"sub-installation":               {root(fixture.Nest, follows, edited), []Cause{ParentsJob}},
		"suspended":                      {root(follows, edited, func(inst *v1alpha1.Installation) { inst.Spec.Suspend = true }), nil},
		"follows nothing":                {root(), append(slices.Clone(always), LostExports, Clock)},
		"follows nothing, edited":        {root(edited), always},
		"follows changes":                {root(follows), append(slices.Clone(always), LostExports, Clock, HealedImports, OtherContext, newSource)},
		"follows changes, edited":        {root(follows, edited), append(slices.Clone(always), NewSpec)},
		"an operation in Git, edited":    {root(inGit, edited), append(slices.Clone(always), NewSpec)},
		"an operation of a person alone": {root(fixture.Operate), append(slices.Clone(always), LostExports, Clock)},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, Causes(tc.inst)) })
	}
}

func TestE24TheNextJobOfTheParentFollowsAtOnce(t *testing.T) {
	job, message := NextJob(fixture.Nested("next", "job", "job"), fixture.WithJobs("next", "job"))
	assert.Equal(t, "next", job)
	assert.NotEmpty(t, message)
}

func TestE02AFailedDeletionIsTriedAgainOnlyWhenItIsAskedFor(t *testing.T) {
	asked := func(inst *v1alpha1.Installation, token string) *v1alpha1.Installation {
		inst.Annotations = map[string]string{meta.ReconcileRequestAnnotation: token}
		return inst
	}
	handled := func(inst *v1alpha1.Installation, token string) *v1alpha1.Installation {
		inst.Status.LastHandledReconcileAt = token
		return inst
	}
	for name, c := range map[string]struct {
		inst, parent *v1alpha1.Installation
		want         bool
	}{
		"the job that applied it is still noted":  {fixture.Nested("apply", "delete", "delete"), fixture.WithJobs("delete", "apply"), false},
		"the same, and the parent failed as well": {fixture.Nested("apply", "delete", "delete"), fixture.WithJobs("delete", "delete"), false},
		"the parent tries again":                  {fixture.Nested("again", "delete", "delete"), fixture.WithJobs("again", "delete"), true},
		"the parent has tried again":              {fixture.Nested("again", "again", "again"), fixture.WithJobs("again", "again"), false},
		"a person asks":                           {asked(fixture.Nested("", "a", "a"), "now"), fixture.WithJobs("a", "a"), true},
		"a root that nobody asks":                 {fixture.WithJobs("a", "a"), nil, false},
		"a root whose request was answered":       {handled(asked(fixture.WithJobs("a", "a"), "then"), "then"), nil, false},
		"a root whose request was taken back":     {handled(fixture.WithJobs("a", "a"), "then"), nil, false},
		"a root that a person asks":               {handled(asked(fixture.WithJobs("a", "a"), "now"), "then"), nil, true},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, DeletionRequested(c.inst, c.parent)) })
	}
}
