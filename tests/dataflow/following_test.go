// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

var startsAt = regexp.MustCompile("a job starts at ([0-9TZ:-]+),")

// TestSwitchingTheDefaultOnSpreadsWhatHasWaited has 80 Installations that wait when their Context begins to say that changes start jobs.
func TestSwitchingTheDefaultOnSpreadsWhatHasWaited(t *testing.T) {
	const count = 80
	s := newScene(t)
	s.Put("Context", "default", object{})
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("waiting-%03d", i)
		s.installWith(names[i], object{"blueprint": inline(object{})}, nil)
	}
	s.installWith("left-alone", object{"blueprint": inline(object{})}, object{v1alpha1.ReconcileIfChangedAnnotation: "false"})
	for _, name := range append(names, "left-alone") {
		s.AwaitState(name, func(inst *v1alpha1.Installation) bool {
			return conditions.GetReason(inst, meta.ReadyCondition) == "ChangesPending"
		})
	}
	s.RequireJobs(0, names...)

	s.Put("Context", "default", object{"reconcileIfChanged": true})

	begun := map[string]time.Time{}
	for _, name := range names {
		begun[name] = s.succeeded(name).Status.TransitionTimes.TriggerTime.Time
	}
	s.RequireJobs(1, names...)
	s.RequireJobs(0, "left-alone")
	s.AwaitEvents(1, "ChangesScheduled", names...)
	events := &corev1.EventList{}
	require.NoError(t, s.Client().List(s.Ctx, events, client.InNamespace(s.Namespace), client.MatchingFields{"reason": "ChangesScheduled"}))
	require.Len(t, events.Items, count)
	var instants []time.Time
	for i := range events.Items {
		event := &events.Items[i]
		require.Contains(t, event.Message, "generation 1 is new")
		require.Contains(t, event.Message, "reconcileIfChanged of Context default")
		require.Contains(t, event.Message, "over "+changesSpread.String())
		found := startsAt.FindStringSubmatch(event.Message)
		require.NotNil(t, found, event.Message)
		at, err := time.Parse(time.RFC3339, found[1])
		require.NoError(t, err)
		instants = append(instants, at)
		assert.False(t, begun[event.InvolvedObject.Name].Before(at), "%s began before its instant", event.InvolvedObject.Name)
	}
	early, late := 0, 0
	for i := range instants {
		offset := instants[i].Sub(events.Items[i].FirstTimestamp.Time)
		if offset < changesSpread/2 {
			early++
		} else {
			late++
		}
		assert.LessOrEqual(t, offset, changesSpread+time.Second)
	}
	assert.Greater(t, early, count/4)
	assert.Greater(t, late, count/4)

	// From now on changes start at once.
	s.installWith(names[0], object{"blueprint": inline(object{"annotations": object{"new": "content"}})}, nil)
	changed := s.AwaitState(names[0], func(inst *v1alpha1.Installation) bool {
		return inst.Generation > 1 && inst.Status.ObservedGeneration == inst.Generation && inst.Status.IsIdle()
	})
	assert.True(t, conditions.IsTrue(changed, "FollowsChanges"))
	s.AwaitEvents(1, "ChangesScheduled", names[0])
	s.installWith("fresh", object{"blueprint": inline(object{})}, nil)
	s.succeeded("fresh")
	s.requireNoDelay("fresh")
}

// requireNoDelay checks that a job began without a delay.
func (s *scene) requireNoDelay(name string) {
	s.T.Helper()
	for _, state := range s.Witness.States(s.Namespace) {
		if state.Name == name {
			require.False(s.T, conditions.IsFalse(state, "FollowsChanges"), name)
		}
	}
}

func TestTheLabelOfANamespaceMakesChangesStartJobs(t *testing.T) {
	s := newScene(t)
	namespace := &corev1.Namespace{}
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKey{Name: s.Namespace}, namespace))
	before := namespace.DeepCopy()
	if namespace.Labels == nil {
		namespace.Labels = map[string]string{}
	}
	namespace.Labels[v1alpha1.ReconcileIfChangedAnnotation] = "true"
	require.NoError(t, s.Client().Patch(s.Ctx, namespace, client.MergeFrom(before)))
	s.installWith("root", object{"blueprint": inline(object{})}, nil)
	s.succeeded("root")
	s.Put("Context", "other", object{"reconcileIfChanged": false})
	s.installWith("opted-out", object{"blueprint": inline(object{}), "context": "other"}, nil)
	s.AwaitState("opted-out", func(inst *v1alpha1.Installation) bool {
		return conditions.GetReason(inst, meta.ReadyCondition) == "ChangesPending"
	})
	s.RequireJobs(0, "opted-out")
}
