// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// Points at which journals were called.
const (
	should = "ShouldReconcile"
	before = "BeforeReconcile"
	after  = "AfterReconcile"
)

// journal are hooks that record when they ran, and answer as told.
type journal struct {
	mu      sync.Mutex
	seen    []string
	answers map[string]func(*v1alpha1.DeployItem) (*HookResult, error)
}

func (j *journal) at(point string, item *v1alpha1.DeployItem) (*HookResult, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, point)
	if answer := j.answers[point]; answer != nil {
		return answer(item)
	}
	return nil, nil
}

func (j *journal) ShouldReconcile(_ context.Context, item *v1alpha1.DeployItem) (*HookResult, error) {
	return j.at(should, item)
}

func (j *journal) BeforeReconcile(_ context.Context, item *v1alpha1.DeployItem) (*HookResult, error) {
	return j.at(before, item)
}

func (j *journal) AfterReconcile(_ context.Context, item *v1alpha1.DeployItem) {
	_, _ = j.at(after, item)
}

func answering(point string, answer func(*v1alpha1.DeployItem) (*HookResult, error)) *journal {
	return &journal{answers: map[string]func(*v1alpha1.DeployItem) (*HookResult, error){point: answer}}
}

// saw returns how often hooks ran at a point.
func (j *journal) saw(point string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(j.seen), func(seen string) bool { return seen != point }))
}

// hooked is a scripted deployer with hooks.
type hooked struct {
	*scripted
	*journal
}

func TestWhatSeveralHooksDecide(t *testing.T) {
	stop, goOn := HookResult{AbortReconcile: true}, HookResult{}
	later := func(after time.Duration) HookResult { return HookResult{RequeueAfter: after, AbortReconcile: true} }
	for name, c := range map[string]struct {
		answers []HookResult
		begins  bool
		again   time.Duration
	}{
		"no answer":                        {},
		"one wants a job":                  {[]HookResult{stop, goOn}, true, 0},
		"none wants a job":                 {[]HookResult{stop, stop}, false, 0},
		"the smallest time":                {[]HookResult{later(3), later(2), later(5)}, false, 2},
		"no time is not the smallest":      {[]HookResult{stop, later(2), stop}, false, 2},
		"a time in the past is not a time": {[]HookResult{later(-1), later(2)}, false, 2},
		"only times in the past are never": {[]HookResult{later(-1)}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var all hooks
			for _, answer := range c.answers {
				all = append(all, answering(should, func(*v1alpha1.DeployItem) (*HookResult, error) { return &answer, nil }))
			}
			s := &scope{}
			begins, err := all.shouldReconcile(t.Context(), s)
			require.NoError(t, err)
			assert.Equal(t, c.begins, begins)
			assert.Equal(t, c.again, s.hookRequeue)
		})
	}
}

func TestHooksRunAroundEachCall(t *testing.T) {
	own, added := &journal{}, &journal{}
	deployer := &scripted{}
	s := newStageOf(t, deployer, hooked{deployer, own}, Options{Hooks: added})
	item := s.create("item", s.withTarget("cluster"))
	s.trigger(item)
	s.finished(item)
	require.Eventually(t, func() bool { return added.saw(after) > 0 }, patience, time.Millisecond)
	for _, hooks := range []*journal{own, added} {
		hooks.mu.Lock()
		assert.Equal(t, []string{before, after}, slices.DeleteFunc(slices.Clone(hooks.seen), func(seen string) bool { return seen == should }))
		hooks.mu.Unlock()
	}

	require.NoError(t, s.client().Delete(t.Context(), item))
	s.trigger(item)
	require.NoError(t, s.p.AwaitGone(s.context(), item))
	assert.Equal(t, 2, own.saw(before), "before the deletion, too")
}

func TestHookHoldsAJobBack(t *testing.T) {
	open := make(chan struct{})
	hooks := answering(before, func(*v1alpha1.DeployItem) (*HookResult, error) {
		select {
		case <-open:
			return nil, nil
		default:
			return &HookResult{AbortReconcile: true, RequeueAfter: 50 * time.Millisecond}, nil
		}
	})
	s := newStage(t, &scripted{}, Options{Hooks: hooks})
	item := s.create("item")
	since := s.trigger(item)
	s.underWay(item, func() bool {
		return item.Status.Phase == v1alpha1.PhaseProgressing && hooks.saw(before) > 3
	})
	ensured, _ := s.deployer.calls()
	assert.Zero(t, ensured)
	s.underWay(item, func() bool {
		return slices.ContainsFunc(item.Status.Conditions, func(c metav1.Condition) bool { return c.Message == "a hook holds the job back" })
	})
	close(open)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.Len(t, s.requestsOf(since, "deployitems"), 3, "picked up, shown, ended")
}

func TestHeldJobEndsInTime(t *testing.T) {
	hooks := answering(before, func(*v1alpha1.DeployItem) (*HookResult, error) { return &HookResult{AbortReconcile: true}, nil })
	s := newStage(t, &scripted{}, Options{Hooks: hooks})
	item := s.create("item", timeout(time.Hour))
	s.trigger(item)
	require.Eventually(t, func() bool { return hooks.saw(before) > 0 }, patience, time.Millisecond)
	s.patch(item, timeout(time.Second))
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Contains(t, item.Status.LastError.Message, "a hook holds the job back")
}

func TestErrorOfAHookIsOneOfTheItem(t *testing.T) {
	calls := 0
	hooks := answering(before, func(*v1alpha1.DeployItem) (*HookResult, error) {
		if calls++; calls < 3 {
			return nil, errors.New("the gate is closed")
		}
		return nil, nil
	})
	s := newStage(t, &scripted{}, Options{Hooks: hooks, MinRetryDelay: 100 * time.Millisecond})
	item := s.create("item")
	s.trigger(item)
	s.underWay(item, func() bool { return item.Status.LastError != nil })
	assert.Equal(t, "hook BeforeReconcile: the gate is closed", item.Status.LastError.Message)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}

func TestStalledHookFailsTheJob(t *testing.T) {
	hooks := answering(before, func(*v1alpha1.DeployItem) (*HookResult, error) {
		return nil, protocol.Stall("Gate", "GateClosed", "the gate is closed; open it")
	})
	s := newStage(t, &scripted{}, Options{Hooks: hooks})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Equal(t, "GateClosed", item.Status.LastError.Reason)
	version := item.ResourceVersion
	other := s.create("other")
	s.trigger(other)
	s.finished(other)
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, version, item.ResourceVersion, "a failed item stands still")
}

func TestHookGivesAnItemAJobOfItsOwn(t *testing.T) {
	hooks := answering(should, func(item *v1alpha1.DeployItem) (*HookResult, error) {
		return &HookResult{AbortReconcile: item.Labels["again"] == "" || len(item.Status.JobIDFinished) > 36}, nil
	})
	s := newStage(t, &scripted{}, Options{Hooks: hooks})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	job := item.Status.JobID
	s.change(item, func() {})
	item.Labels = map[string]string{"again": "yes"}
	require.NoError(t, s.client().Update(t.Context(), item))
	require.NoError(t, s.p.Await(s.context(), item, func() bool { return item.Status.JobIDFinished != job && item.Job().IsIdle() }))
	assert.Contains(t, item.Status.JobID, v1alpha1.ContinuousJobPrefix)
	ensured, _ := s.deployer.calls()
	assert.Equal(t, 2, ensured)
}

func TestErrorOfAHookWithoutAJobWritesNothing(t *testing.T) {
	hooks := answering(should, func(*v1alpha1.DeployItem) (*HookResult, error) { return nil, errors.New("no idea") })
	s := newStage(t, &scripted{}, Options{Hooks: hooks, MinRetryDelay: 10 * time.Millisecond})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	since := time.Now()
	require.Eventually(t, func() bool { return hooks.saw(should) > 3 }, patience, time.Millisecond, "it is tried again")
	assert.Empty(t, s.requests(since))
}
