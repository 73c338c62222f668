// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestMeaningOfAnOperation(t *testing.T) {
	with := func(operation, written, recorded string) *v1alpha1.Installation {
		inst := fixture.WithJobs("b", "a")
		inst.Annotations = map[string]string{v1alpha1.OperationAnnotation: operation, v1alpha1.JobAnnotation: written}
		inst.Status.OperationJobID = recorded
		return inst
	}
	child := fixture.Nested("", "a", "a")
	child.Annotations[v1alpha1.OperationAnnotation] = v1alpha1.OperationReconcile
	left := child.DeepCopy()
	left.Status.Phase = v1alpha1.PhaseDeleteFailed
	for name, c := range map[string]struct {
		inst *v1alpha1.Installation
		want Meaning
	}{
		"none":                                        {&v1alpha1.Installation{}, AsksNothing},
		"the first":                                   {with("reconcile", "", ""), asksForJob},
		"status says that it started a job":           {with("reconcile", "", "b"), AsksNothing},
		"status says so, after an earlier one":        {with("reconcile", "a", "b"), AsksNothing},
		"a new one after metadata said so as well":    {with("reconcile", "b", "b"), asksForJob},
		"interrupt":                                   {with("interrupt", "", ""), AsksInVain},
		"interrupt behind one that started a job":     {with("interrupt", "a", "b"), AsksInVain},
		"anything":                                    {with("anything", "", ""), AsksInVain},
		"on a sub-installation":                       {child, AsksInVain},
		"on a sub-installation whose deletion failed": {left, asksForJob},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, MeaningOf(c.inst)) })
	}
}
