// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestSuccessIsTwoStatusWrites(t *testing.T) {
	s := newStage(t, &scripted{}, Options{Identity: "me", Version: "v1"})
	item := s.create("item", s.withTarget("cluster"))
	since := s.trigger(item)
	s.finished(item)
	assert.Equal(t, []string{"update deployitems/status", "update deployitems/status"}, s.requests(since))
	status := item.Status
	assert.Equal(t, v1alpha1.PhaseSucceeded, status.Phase)
	assert.Equal(t, item.Generation, status.ObservedGeneration)
	assert.Equal(t, &v1alpha1.DeployerInformation{Identity: "me", Name: s.deployer.Name(), Version: "v1", Type: s.deployer.Type()}, status.Deployer)
	assert.True(t, item.IsPickedUp())
	assert.NotNil(t, status.TransitionTimes.InitTime)
	assert.NotNil(t, status.TransitionTimes.FinishedTime)
	assert.Nil(t, status.LastError)

	since = s.remove(item)
	require.NoError(t, s.p.AwaitGone(s.context(), item))
	_, erased := s.deployer.calls()
	assert.Equal(t, 1, erased)
	assert.Equal(t, []string{"update deployitems/status", "patch deployitems"}, s.requests(since), "a deletion")
}

func TestWorkIsShownBeforeItBegins(t *testing.T) {
	release := make(chan struct{})
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		<-release
		return Outcome{Done: true}, nil
	}}, Options{})
	item := s.create("item")
	s.trigger(item)
	s.underWay(item, func() bool { return item.Status.Phase == v1alpha1.PhaseProgressing })
	assert.True(t, conditions.IsReconciling(item))
	assert.True(t, conditions.IsUnknown(item, meta.ReadyCondition))
	assert.NotEqual(t, item.Status.JobID, item.Status.JobIDFinished)
	close(release)
	s.finished(item)
}

func TestIdleItemsCostNothing(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	since := time.Now()
	item.Labels = map[string]string{"touched": "yes"}
	require.NoError(t, s.client().Update(t.Context(), item))
	other := s.create("other")
	s.trigger(other)
	s.finished(other)
	assert.Len(t, s.requests(since), 2, "only the other item is worked on")
}

func TestForeignItemsAreLeftAlone(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	foreign := s.create("foreign", func(item *v1alpha1.DeployItem) { item.Spec.Type = "example.com/other" })
	ignored := s.create("ignored", func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.IgnoreAnnotation: "true"}
	})
	s.trigger(foreign)
	s.trigger(ignored)
	own := s.create("own")
	s.trigger(own)
	s.finished(own)
	for _, item := range []*v1alpha1.DeployItem{foreign, ignored} {
		require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
		assert.Empty(t, item.Status.Phase)
	}
	ignored.Annotations = nil
	require.NoError(t, s.client().Update(t.Context(), ignored))
	s.finished(ignored)
}

func TestMissingFinalizerIsAdded(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	item := s.create("item", func(item *v1alpha1.DeployItem) { item.Finalizers = nil })
	since := s.trigger(item)
	s.finished(item)
	assert.Equal(t, []string{v1alpha1.Finalizer}, item.Finalizers)
	assert.Len(t, s.requests(since), 3)
}

func TestUpdateOnChangeOnly(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	item := s.create("item", func(item *v1alpha1.DeployItem) { item.Spec.UpdateOnChangeOnly = true })
	s.trigger(item)
	s.finished(item)
	since := s.trigger(item)
	s.finished(item)
	assert.Equal(t, []string{"update deployitems/status"}, s.requests(since))
	item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(`{"a":"c"}`)}
	require.NoError(t, s.client().Update(t.Context(), item))
	s.trigger(item)
	s.finished(item)
	ensured, _ := s.deployer.calls()
	assert.Equal(t, 2, ensured)
}

func TestClockBehindTheCentreStillPicksUp(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	item := s.create("item")
	s.change(item, func() {
		item.Status.JobID = "job"
		item.Status.JobIDGenerationTime = &metav1.Time{Time: time.Now().Add(time.Hour)}
	})
	s.finished(item)
	assert.True(t, item.IsPickedUp())
	ensured, _ := s.deployer.calls()
	assert.Equal(t, 1, ensured)
}

func TestRestartResumesTheJob(t *testing.T) {
	s := newStage(t, &scripted{ensure: waitForConfigMap}, Options{})
	item := s.create("item", s.withTarget("cluster"))
	s.trigger(item)
	s.underWay(item, func() bool { return item.Status.Phase == v1alpha1.PhaseProgressing })
	began := item.Status.TransitionTimes.InitTime
	s.stop()
	require.NoError(t, s.client().Create(t.Context(), s.configMap("item")))
	since := time.Now()
	s.start(Options{})
	s.finished(item)
	assert.Equal(t, []string{"update deployitems/status"}, s.requestsOf(since, "deployitems"))
	assert.Equal(t, began.Unix(), item.Status.TransitionTimes.InitTime.Unix())
}

func TestMemoryLastsForTheJob(t *testing.T) {
	var seen []any
	s := newStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		seen = append(seen, item.Memory["calls"])
		item.Memory["calls"] = len(seen)
		if len(seen) == 2 {
			return Outcome{Done: true}, nil
		}
		return Outcome{}, errors.New("again")
	}}, Options{})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, []any{nil, 1}, seen)
}

func TestPanicIsTriedAgain(t *testing.T) {
	calls := 0
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		if calls++; calls == 1 {
			panic("broken")
		}
		return Outcome{Done: true}, nil
	}}, Options{})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}
