// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

func TestWatchedChangeBringsTheJobOn(t *testing.T) {
	s := newStage(t, &scripted{ensure: waitForConfigMap}, Options{})
	item := s.create("item", s.withTarget("cluster"))
	since := s.trigger(item)
	s.underWay(item, func() bool { return item.Status.Phase == v1alpha1.PhaseProgressing })
	require.NoError(t, s.client().Create(t.Context(), s.configMap("item")))
	s.finished(item)
	assert.WithinDuration(t, since, item.Status.TransitionTimes.FinishedTime.Time, pace.Within(2*time.Second))
	s.requireWrites(since, 2)
}

// requireWrites requires that the deployer has written the status of an item so often, or once more where the job took so long that its wait
// is shown.
func (s *stage) requireWrites(since time.Time, want int) {
	s.t.Helper()
	written := s.requestsOf(since, "deployitems")
	if time.Since(since) >= visibleAfter && len(written) > want {
		want++
	}
	require.Equal(s.t, slices.Repeat([]string{"update deployitems/status"}, want), written)
}

func TestLongWaitIsShown(t *testing.T) {
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		return Outcome{Waiting: "Job migrate is running", ProviderStatus: &runtime.RawExtension{Raw: []byte(`{"seen":true}`)}}, nil
	}}, Options{})
	item := s.create("item")
	since := s.trigger(item)
	s.underWay(item, func() bool { return conditions.GetMessage(item, meta.ReadyCondition) == "Job migrate is running" })
	assert.Equal(t, protocol.ReasonWaiting, conditions.GetReason(item, meta.ReconcilingCondition), "what is above shows it, too")
	assert.JSONEq(t, `{"seen":true}`, string(item.Status.ProviderStatus.Raw))
	assert.GreaterOrEqual(t, time.Since(since), visibleAfter)
	ensured, _ := s.deployer.calls()
	assert.Equal(t, 1, ensured, "showing the state needs no call")
}

func TestOfALongWaitOnlyWhatIsShownIsKept(t *testing.T) {
	d := newDesk(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		return Outcome{Waiting: strings.Repeat("x", 1<<20)}, nil
	}})
	d.trigger("1")
	d.pass()
	job := d.r.jobs.Of(client.ObjectKeyFromObject(d.item()))
	require.NotNil(t, job)
	assert.LessOrEqual(t, len(job.Cause), protocol.MaxMessage)
	assert.NotEmpty(t, job.Cause)
}

func TestManyWaitsShareWatches(t *testing.T) {
	const count = 40
	s := newStage(t, &scripted{ensure: waitForConfigMap}, Options{})
	cluster := s.withTarget("cluster")
	since := time.Now()
	items := make([]*v1alpha1.DeployItem, count)
	for i := range items {
		items[i] = s.create(fmt.Sprintf("item-%d", i), cluster, timeout(time.Minute))
		s.trigger(items[i])
	}
	for _, item := range items {
		s.underWay(item, func() bool {
			return strings.Contains(conditions.GetMessage(item, meta.ReadyCondition), "does not exist")
		})
	}
	for _, item := range items {
		require.NoError(t, s.client().Create(t.Context(), s.configMap(item.Name)))
	}
	for _, item := range items {
		s.finished(item)
	}
	requests, err := s.p.Requests(s.context(), since)
	require.NoError(t, err)
	opened := 0
	for _, request := range requests {
		if request.Resource == "configmaps" && request.Namespace == s.namespace && request.Verb == "watch" {
			opened++
		}
	}
	assert.Positive(t, opened)
	assert.LessOrEqual(t, opened, maxNarrow+1)
}

func TestContextThatAppearsBringsTheJobOn(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	item := s.create("item", func(item *v1alpha1.DeployItem) { item.Spec.Context = "late" })
	s.trigger(item)
	s.underWay(item, func() bool { return item.Status.LastError != nil })
	assert.Contains(t, item.Status.LastError.Message, `Context "late"`)
	late := &v1alpha1.Context{}
	late.Namespace, late.Name = s.namespace, "late"
	require.NoError(t, s.client().Create(t.Context(), late))
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}

func TestWatchOfAnUnknownKindIsOpenedOnceItExists(t *testing.T) {
	calls := 0
	s := newStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		calls++
		watched := Watched{Cluster: item.Target, APIVersion: "unknown.example.com/v1", Kind: "Unknown", Name: "one"}
		return Outcome{Done: calls == 3, Waiting: "Unknown one", Watch: []Watched{watched}}, nil
	}}, Options{})
	item := s.create("item", s.withTarget("cluster"))
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}
