// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestOnlyASuspendedSpecCountsAsObservedWithALoss(t *testing.T) {
	for name, tc := range map[string]struct {
		suspended bool
		want      int64
	}{"suspended": {true, 2}, "at work": {false, 1}} {
		t.Run(name, func(t *testing.T) {
			s := newScope(fixture.Grown(v1alpha1.PhaseSucceeded), time.Time{})
			s.inst.Generation, s.inst.Status.ObservedGeneration, s.inst.Spec.Suspend = 2, 1, tc.suspended
			shown, err := with(t).showLoss(t.Context(), s)
			require.NoError(t, err)
			assert.True(t, shown)
			assert.Equal(t, tc.want, s.inst.Status.ObservedGeneration)
		})
	}
}

func TestALossIsShownOnlyWhenTheAPIServerHasItToo(t *testing.T) {
	execution := func(owner *v1alpha1.Installation) []client.Object {
		made := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root"}}
		if owner != nil {
			made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("Installation"))}
		}
		return []client.Object{made}
	}
	for name, tc := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"it is gone":                       {nil, "was deleted"},
		"the cache is behind":              {execution(fixture.Grown(v1alpha1.PhaseSucceeded)), ""},
		"it has no owner any more":         {execution(nil), "does not belong to this installation"},
		"it has another owner of the name": {execution(fixture.Working("root", "another", "job")), "does not belong to this installation"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(fixture.Grown(v1alpha1.PhaseSucceeded), time.Time{})
			r := with(t, tc.objects...)
			shown, err := r.showLoss(t.Context(), s)
			require.NoError(t, err)
			assert.Equal(t, tc.want != "", shown)
			assert.Equal(t, tc.want != "", conditions.IsFalse(s.inst, meta.ReadyCondition))
			assert.Contains(t, conditions.GetMessage(s.inst, meta.ReadyCondition), tc.want)

			before := s.inst.Status.DeepCopy()
			_, err = r.showLoss(t.Context(), s)
			require.NoError(t, err)
			assert.Equal(t, before, &s.inst.Status, "nothing changes while nothing changes")
		})
	}
}

func TestExportsComeAgainAtAPace(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		ended time.Duration
		want  bool
		wake  time.Duration
	}{
		"long ago":                  {time.Minute, true, 0},
		"while the clock was wrong": {-1000 * time.Hour, true, 0},
		"just now":                  {4 * time.Second, false, exportPace - 4*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(fixture.Working("root", "1", "job"), time.Time{})
			s.now = now
			s.inst.Status.Phase, s.inst.Status.ObservedGeneration = v1alpha1.PhaseSucceeded, s.inst.Generation
			s.inst.Status.TransitionTimes = &v1alpha1.TransitionTimes{FinishedTime: &metav1.Time{Time: now.Add(-tc.ended)}}
			s.inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "out", DataRef: "out"}}
			reason, err := with(t).exportsAgain(t.Context(), s)
			require.NoError(t, err)
			assert.Equal(t, tc.want, reason != "", reason)
			assert.Equal(t, tc.wake, s.requeue)
		})
	}
}
