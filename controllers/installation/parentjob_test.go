// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

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
		"a sub-installation by no clock": {inst: fixture.Below(fixture.Working("parent", "3", "job"), clock(failed("child", "1", "Unreachable")))},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{tc.inst}
			if tc.other != nil {
				objects = append(objects, tc.other)
			}
			s := newScope(tc.inst, time.Unix(2, 0))
			s.asked = tc.asked
			again, err := with(t, objects...).retriesDeletion(t.Context(), s)
			require.NoError(t, err)
			assert.Equal(t, tc.want, again)
		})
	}
}
