// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
)

// withJobs returns an Installation that is at a job after it has ended another.
func withJobs(running, finished string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{}
	inst.Status.JobID, inst.Status.JobIDFinished = running, finished
	return inst
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
		"the job that applied it is still noted":  {fixture.Nested("apply", "delete", "delete"), withJobs("delete", "apply"), false},
		"the same, and the parent failed as well": {fixture.Nested("apply", "delete", "delete"), withJobs("delete", "delete"), false},
		"the parent tries again":                  {fixture.Nested("again", "delete", "delete"), withJobs("again", "delete"), true},
		"the parent has tried again":              {fixture.Nested("again", "again", "again"), withJobs("again", "again"), false},
		"a person asks":                           {asked(fixture.Nested("", "a", "a"), "now"), withJobs("a", "a"), true},
		"a root that nobody asks":                 {withJobs("a", "a"), nil, false},
		"a root whose request was answered":       {handled(asked(withJobs("a", "a"), "then"), "then"), nil, false},
		"a root whose request was taken back":     {handled(withJobs("a", "a"), "then"), nil, false},
		"a root that a person asks":               {handled(asked(withJobs("a", "a"), "now"), "then"), nil, true},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, jobs.DeletionRequested(c.inst, c.parent)) })
	}
}

func TestE12FailedDeletionsThatAreTriedAgain(t *testing.T) {
	failed := func(name, uid, reason string) *v1alpha1.Installation {
		inst := fixture.Exporter(name, uid, reason)
		inst.Status.Phase = v1alpha1.PhaseDeleteFailed
		return inst
	}
	successor := func(phase v1alpha1.Phase) *v1alpha1.Installation {
		inst := fixture.Working("successor", "2", "job")
		inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: "out"}}
		inst.Status.JobIDFinished, inst.Status.Phase = "job", phase
		return inst
	}
	clock := func(inst *v1alpha1.Installation) *v1alpha1.Installation {
		inst.Spec.AutomaticReconcile = &v1alpha1.AutomaticReconcile{FailedReconcile: &v1alpha1.FailedReconcile{}}
		inst.Status.TransitionTimes = &v1alpha1.TransitionTimes{FinishedTime: &metav1.Time{Time: time.Unix(1, 0)}}
		return inst
	}
	for name, tc := range map[string]struct {
		inst, other *v1alpha1.Installation
		asked, want bool
	}{
		"nobody asks":                    {inst: failed("root", "1", "Unreachable")},
		"somebody asks":                  {inst: failed("root", "1", "Unreachable"), asked: true, want: true},
		"the clock asks":                 {inst: clock(failed("root", "1", "Unreachable")), want: true},
		"the sibling is in the way":      {inst: failed("root", "1", jobs.ReasonSiblingDeleteError), other: successor(v1alpha1.PhaseDeleteFailed)},
		"the sibling is out of the way":  {inst: failed("root", "1", jobs.ReasonSiblingDeleteError), other: successor(v1alpha1.PhaseDeleting), want: true},
		"the sibling is gone":            {inst: failed("root", "1", jobs.ReasonSiblingDeleteError), want: true},
		"a sub-installation by no clock": {inst: below(fixture.Working("parent", "3", "job"), clock(failed("child", "1", "Unreachable")))},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{tc.inst}
			if tc.other != nil {
				objects = append(objects, tc.other)
			}
			again, err := with(t, objects...).retriesDeletion(t.Context(), &scope{inst: tc.inst, asked: tc.asked, now: time.Unix(2, 0)})
			require.NoError(t, err)
			assert.Equal(t, tc.want, again)
		})
	}
}

func TestDeletionsOfSubinstallationsAreNoWorkOfTheirParent(t *testing.T) {
	for name, tc := range map[string]struct {
		running, finished string
		phase             v1alpha1.Phase
		want              bool
	}{
		"idle":                       {"a", "a", v1alpha1.PhaseSucceeded, false},
		"at a job":                   {"b", "a", v1alpha1.PhaseProgressing, true},
		"about to begin one":         {"b", "a", v1alpha1.PhaseSucceeded, true},
		"its deletion waits":         {"b", "a", v1alpha1.PhaseDeleting, false},
		"its deletion has failed":    {"b", "b", v1alpha1.PhaseDeleteFailed, false},
		"another attempt to delete":  {"c", "b", v1alpha1.PhaseDeleteFailed, false},
		"deleted, but still at work": {"b", "a", v1alpha1.PhaseInit, true},
	} {
		t.Run(name, func(t *testing.T) {
			child := withJobs(tc.running, tc.finished)
			child.Status.Phase = tc.phase
			s := &scope{children: map[string]*v1alpha1.Installation{"child": child}}
			assert.Equal(t, tc.want, s.childrenRun())
		})
	}
}
