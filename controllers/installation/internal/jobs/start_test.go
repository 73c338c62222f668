// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"slices"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestDeletionJob(t *testing.T) {
	for name, c := range map[string]struct {
		inst, parent *v1alpha1.Installation
		want         string // "" is a new one
	}{
		"of a root":                     {withJobs("a", "a"), nil, ""},
		"the parent is at work":         {fixture.Nested("a", "a", "a"), withJobs("b", "a"), "b"},
		"the parent is idle":            {fixture.Nested("a", "a", "a"), withJobs("b", "b"), ""},
		"the parent is gone":            {fixture.Nested("a", "a", "a"), nil, ""},
		"it has ended the parent's job": {fixture.Nested("a", "a", "a"), withJobs("a", "z"), ""},
		"it has begun the parent's job": {fixture.Nested("a", "a", "z"), withJobs("a", "z"), ""},
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
		conditions.MarkTrue(inst, OperationInGitCondition, kit.ReasonLoopGuard, "it comes with every sync")
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
		"follows changes":                {root(follows), append(slices.Clone(always), LostExports, Clock, ArrivedImports, OtherContext, newSource)},
		"follows changes, edited":        {root(follows, edited), append(slices.Clone(always), NewSpec)},
		"an operation in Git, edited":    {root(inGit, edited), append(slices.Clone(always), NewSpec)},
		"an operation of a person alone": {root(fixture.Operate), append(slices.Clone(always), LostExports, Clock)},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, Causes(tc.inst)) })
	}
}
