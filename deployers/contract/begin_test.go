// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestUntilTakeover(t *testing.T) {
	now := time.Unix(10000, 0)
	for name, c := range map[string]struct {
		identity string
		began    time.Duration
		timeout  *v1alpha1.Duration
		want     time.Duration
	}{
		"own":                      {"me", time.Minute, nil, 0},
		"nobody's":                 {"", time.Minute, nil, 0},
		"another's":                {"other", time.Minute, nil, 9*time.Minute + takeoverGrace},
		"another's, late":          {"other", 11 * time.Minute, nil, 0},
		"another's, not yet late":  {"other", 10*time.Minute + takeoverGrace/2, nil, takeoverGrace / 2},
		"another's, own timeout":   {"other", time.Minute, &v1alpha1.Duration{Duration: 2 * time.Minute}, time.Minute + takeoverGrace},
		"another's, without limit": {"other", time.Hour, &v1alpha1.Duration{}, 23*time.Hour + takeoverGrace},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{Spec: v1alpha1.DeployItemSpec{Timeout: c.timeout}}
			if c.identity != "" {
				item.Status.Deployer = &v1alpha1.DeployerInformation{Identity: c.identity}
			}
			item.Status.TransitionTimes = &v1alpha1.TransitionTimes{InitTime: &metav1.Time{Time: now.Add(-c.began)}}
			assert.Equal(t, c.want, untilTakeover(item, "me", 24*time.Hour, now))
		})
	}
}

func TestAJobThatBeganWhileTheClockWasWrong(t *testing.T) {
	now := time.Unix(10000, 0)
	item := &v1alpha1.DeployItem{}
	item.Status.Deployer = &v1alpha1.DeployerInformation{Identity: "other"}
	item.Status.TransitionTimes = &v1alpha1.TransitionTimes{InitTime: &metav1.Time{Time: now.Add(1000 * time.Hour)}}
	assert.Equal(t, now, beganAt(item, now), "it has all its time from now on, and no more")
	assert.Zero(t, untilTakeover(item, "me", 24*time.Hour, now), "nobody waits for it")

	item.Status.TransitionTimes.InitTime = &metav1.Time{Time: now.Add(time.Minute)}
	assert.Equal(t, now.Add(time.Minute), beganAt(item, now), "clocks differ a little")
}

func TestJobOfAnotherDeployerWithoutAnyLimitIsNeverTakenOver(t *testing.T) {
	item := &v1alpha1.DeployItem{Spec: v1alpha1.DeployItemSpec{Timeout: &v1alpha1.Duration{}}}
	item.Status.Deployer = &v1alpha1.DeployerInformation{Identity: "other"}
	assert.Equal(t, time.Duration(-1), untilTakeover(item, "me", 0, time.Now()))
}

func TestWhoseRecordIsLost(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(item *v1alpha1.DeployItem)
		want   bool
	}{
		"of one that has had a job":              {change: func(*v1alpha1.DeployItem) {}, want: true},
		"of one below another kind":              {change: func(item *v1alpha1.DeployItem) { heldBy(item, "Batch") }, want: true},
		"of one that others only have ended":     {change: func(item *v1alpha1.DeployItem) { item.Status.Phase = v1alpha1.PhaseFailed }, want: true},
		"of none that has had no job":            {change: func(item *v1alpha1.DeployItem) { item.Finalizers = nil }},
		"of none that its Execution looks after": {change: func(item *v1alpha1.DeployItem) { heldBy(item, "Execution") }},
		"of none that a deployer has begun":      {change: func(item *v1alpha1.DeployItem) { item.Status.Deployer = &v1alpha1.DeployerInformation{} }},
		"of none with a record":                  {change: func(item *v1alpha1.DeployItem) { item.Status.ProviderStatus = &runtime.RawExtension{} }},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{}
			item.Finalizers, item.Status.JobID = []string{v1alpha1.Finalizer}, "1"
			tc.change(item)

			noteLost(item)

			assert.Equal(t, tc.want, conditions.IsTrue(item, v1alpha1.RecordLostCondition))
		})
	}
}

func heldBy(item *v1alpha1.DeployItem, kind string) {
	item.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: "owner", UID: "owner", Controller: new(true)}}
}

func TestWhichJobsHaveBegun(t *testing.T) {
	requested := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		phase      v1alpha1.Phase
		isDeleting bool
		pickedUp   time.Duration
		want       bool
	}{
		"under way":                     {phase: v1alpha1.PhaseProgressing, want: true},
		"an uninstall":                  {phase: v1alpha1.PhaseDeleting, isDeleting: true, want: true},
		"none so far":                   {},
		"the last one has ended":        {phase: v1alpha1.PhaseSucceeded},
		"a deployment before deletion":  {phase: v1alpha1.PhaseProgressing, isDeleting: true},
		"asked for after the last look": {phase: v1alpha1.PhaseProgressing, pickedUp: -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{}
			item.Status.Phase, item.Status.JobIDGenerationTime = tc.phase, &metav1.Time{Time: requested}
			item.Status.LastReconcileTime = &metav1.Time{Time: requested.Add(tc.pickedUp)}
			if tc.isDeleting {
				item.DeletionTimestamp = &metav1.Time{Time: requested}
			}
			assert.Equal(t, tc.want, isBegun(item))
		})
	}
}

func TestAJobThatBeginsForgetsTheLastOne(t *testing.T) {
	now := time.Unix(2000, 0)
	for _, isDeleting := range []bool{false, true} {
		item := &v1alpha1.DeployItem{}
		item.Generation, item.Status.LastError, item.Status.Phase = 7, &v1alpha1.Error{Message: "old"}, v1alpha1.PhaseFailed
		item.Status.TransitionTimes = &v1alpha1.TransitionTimes{FinishedTime: &metav1.Time{Time: now}}
		want := v1alpha1.PhaseProgressing
		if isDeleting {
			item.DeletionTimestamp, want = &metav1.Time{Time: now}, v1alpha1.PhaseDeleting
		}
		begin(item, v1alpha1.DeployerInformation{Identity: "me"}, now)
		assert.Nil(t, item.Status.LastError)
		assert.Nil(t, item.Status.TransitionTimes.FinishedTime)
		assert.Equal(t, want, item.Status.Phase)
		assert.Equal(t, int64(7), item.Status.ObservedGeneration)
		assert.Equal(t, "me", item.Status.Deployer.Identity)
		assert.Equal(t, now, beganAt(item, now.Add(time.Minute)))
	}
}

// TestAJobOfADeployersOwnIsTriggeredWhenItBegins tells it from one that an Execution has requested since the last one ended.
func TestAJobOfADeployersOwnIsTriggeredWhenItBegins(t *testing.T) {
	requested, ended, now := metav1.Unix(1000, 0), metav1.Unix(1010, 0), metav1.Unix(2000, 0)
	for name, test := range map[string]struct {
		times *v1alpha1.TransitionTimes
		want  metav1.Time
	}{
		"the first":                    {nil, now},
		"after one that ended at once": {&v1alpha1.TransitionTimes{TriggerTime: &requested, FinishedTime: &requested}, now},
		"after one that ended":         {&v1alpha1.TransitionTimes{TriggerTime: &requested, FinishedTime: &ended}, now},
		"requested":                    {&v1alpha1.TransitionTimes{TriggerTime: &requested}, requested},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{}
			item.Status.TransitionTimes = test.times
			begin(item, v1alpha1.DeployerInformation{}, now.Time)
			assert.Equal(t, test.want, *item.Status.TransitionTimes.TriggerTime)
		})
	}
}

func TestNoJobBeginsBeforeItWasAskedFor(t *testing.T) {
	now := time.Unix(2000, 0)
	item := &v1alpha1.DeployItem{}
	item.Status.JobIDGenerationTime = &metav1.Time{Time: now.Add(time.Minute)}
	stamp(item, v1alpha1.DeployerInformation{}, now)
	assert.True(t, item.IsPickedUp(), "the clock of this process is behind")
}
