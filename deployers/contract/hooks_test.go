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
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

func TestAggregate(t *testing.T) {
	stop, goOn := HookResult{AbortReconcile: true}, HookResult{}
	later := func(after time.Duration) HookResult { return HookResult{RequeueAfter: after} }
	for name, c := range map[string]struct {
		at      HookType
		answers []HookResult
		want    *HookResult
	}{
		"no answer":                        {HookStart, nil, nil},
		"one abort is enough":              {HookBeforeReconcile, []HookResult{goOn, stop}, &HookResult{AbortReconcile: true}},
		"nobody aborts":                    {HookBeforeReconcile, []HookResult{goOn, goOn}, &HookResult{}},
		"responsible for one":              {HookDuringResponsibilityCheck, []HookResult{stop, goOn}, &HookResult{}},
		"responsible for none":             {HookDuringResponsibilityCheck, []HookResult{stop, stop}, &HookResult{AbortReconcile: true}},
		"one wants a job":                  {HookShouldReconcile, []HookResult{stop, goOn}, &HookResult{}},
		"none wants a job":                 {HookShouldReconcile, []HookResult{stop}, &HookResult{AbortReconcile: true}},
		"the smallest time":                {HookEnd, []HookResult{later(3), later(2), later(5)}, &HookResult{RequeueAfter: 2}},
		"no time is not the smallest":      {HookEnd, []HookResult{goOn, later(2), goOn}, &HookResult{RequeueAfter: 2}},
		"a time in the past is not a time": {HookEnd, []HookResult{later(-1), later(2)}, &HookResult{RequeueAfter: 2}},
		"only times in the past are never": {HookEnd, []HookResult{later(-1)}, &HookResult{}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, aggregate(c.at, c.answers)) })
	}
}

// journal records which hooks ran, and answers as told.
type journal struct {
	mu      sync.Mutex
	seen    []HookType
	answers map[HookType]func(HookCall) (*HookResult, error)
}

func (j *journal) hooks() Hooks {
	hooks := Hooks{}
	for _, at := range hookTypes {
		hooks[at] = []Hook{j.hook}
	}
	return hooks
}

func (j *journal) hook(_ context.Context, call HookCall) (*HookResult, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, call.Type)
	if answer := j.answers[call.Type]; answer != nil {
		return answer(call)
	}
	return nil, nil
}

func (j *journal) answer(at HookType, answer func(HookCall) (*HookResult, error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.answers == nil {
		j.answers = map[HookType]func(HookCall) (*HookResult, error){}
	}
	j.answers[at] = answer
}

// saw returns how often hooks ran at a point.
func (j *journal) saw(at HookType) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	count := 0
	for _, seen := range j.seen {
		if seen == at {
			count++
		}
	}
	return count
}

// first returns the points of the first pass.
func (j *journal) first(count int) []HookType {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.seen[:min(count, len(j.seen))])
}

func abort(HookCall) (*HookResult, error) { return &HookResult{AbortReconcile: true}, nil }

// hooked is a scripted deployer with hooks.
type hooked struct {
	*scripted
	hooks Hooks
}

func (h hooked) Hooks() Hooks { return h.hooks }

func TestHooksRunInTheirOrder(t *testing.T) {
	own, added := &journal{}, &journal{}
	var targets []string
	own.answer(HookBeforeReconcile, func(call HookCall) (*HookResult, error) {
		targets = append(targets, call.Target.Name)
		return nil, nil
	})
	deployer := &scripted{}
	s := newStageOf(t, deployer, hooked{deployer, own.hooks()}, Options{Hooks: added.hooks()})
	item := s.create("item", s.withTarget("cluster"))
	s.trigger(item)
	s.finished(item)
	require.Eventually(t, func() bool { return added.saw(HookEnd) > 0 }, patience, time.Millisecond)
	order := []HookType{
		HookStart, HookDuringResponsibilityCheck, HookAfterResponsibilityCheck, HookBeforeReconcile, HookBeforeAnyReconcile, HookEnd,
	}
	assert.Equal(t, order, own.first(len(order)))
	assert.Equal(t, order, added.first(len(order)))
	assert.Equal(t, []string{"cluster"}, targets)
	assert.Zero(t, own.saw(HookBeforeForceReconcile)+own.saw(HookBeforeDelete)+own.saw(HookBeforeAbort))

	require.NoError(t, s.client().Delete(t.Context(), item))
	s.trigger(item)
	require.NoError(t, s.p.AwaitGone(s.context(), item))
	assert.Equal(t, 1, own.saw(HookBeforeDelete))
	assert.Equal(t, 2, own.saw(HookBeforeAnyReconcile))
}

func TestHookOfAForcedJob(t *testing.T) {
	hooks := &journal{}
	s := newStage(t, &scripted{}, Options{Hooks: hooks.hooks()})
	item := s.create("item", func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationTestReconcile}
	})
	require.NoError(t, s.p.Await(s.context(), item, func() bool { return item.Status.JobIDFinished != "" }))
	assert.Equal(t, 1, hooks.saw(HookBeforeForceReconcile))
}

func TestHookHoldsAJobBack(t *testing.T) {
	hooks := &journal{}
	open := make(chan struct{})
	hooks.answer(HookBeforeReconcile, func(HookCall) (*HookResult, error) {
		select {
		case <-open:
			return nil, nil
		default:
			return &HookResult{AbortReconcile: true, RequeueAfter: 50 * time.Millisecond}, nil
		}
	})
	s := newStage(t, &scripted{}, Options{Hooks: hooks.hooks()})
	item := s.create("item")
	since := s.trigger(item)
	s.underWay(item, func() bool {
		return item.Status.Phase == v1alpha1.PhaseProgressing && hooks.saw(HookBeforeReconcile) > 3
	})
	ensured, _ := s.deployer.calls()
	assert.Zero(t, ensured)
	s.underWay(item, func() bool {
		return slices.ContainsFunc(item.Status.Conditions, func(c metav1.Condition) bool {
			return c.Message == "a hook holds the job back at BeforeReconcile"
		})
	})
	close(open)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.Len(t, s.requestsOf(since, "deployitems"), 3, "picked up, shown, ended")
}

func TestHeldJobEndsInTime(t *testing.T) {
	hooks := &journal{}
	hooks.answer(HookBeforeAnyReconcile, abort)
	s := newStage(t, &scripted{}, Options{Hooks: hooks.hooks()})
	item := s.create("item", timeout(time.Hour))
	s.trigger(item)
	require.Eventually(t, func() bool { return hooks.saw(HookBeforeAnyReconcile) > 0 }, patience, time.Millisecond)
	s.patch(item, timeout(time.Second))
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Contains(t, item.Status.LastError.Message, "a hook holds the job back at BeforeAnyReconcile")
}

func TestErrorOfAHookIsOneOfTheItem(t *testing.T) {
	for _, at := range []HookType{HookStart, HookDuringResponsibilityCheck, HookAfterResponsibilityCheck, HookBeforeReconcile, HookBeforeAnyReconcile} {
		t.Run(string(at), func(t *testing.T) {
			hooks, calls := &journal{}, 0
			hooks.answer(at, func(call HookCall) (*HookResult, error) {
				if call.DeployItem.Job().IsIdle() {
					return nil, nil
				}
				if calls++; calls < 3 {
					return nil, errors.New("the gate is closed")
				}
				return nil, nil
			})
			s := newStage(t, &scripted{}, Options{Hooks: hooks.hooks(), MinRetryDelay: 100 * time.Millisecond})
			item := s.create("item")
			s.trigger(item)
			s.underWay(item, func() bool { return item.Status.LastError != nil })
			assert.Equal(t, "hook "+string(at)+": the gate is closed", item.Status.LastError.Message)
			s.finished(item)
			assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
		})
	}
}

func TestStalledHookFailsTheJob(t *testing.T) {
	hooks := &journal{}
	hooks.answer(HookBeforeReconcile, func(HookCall) (*HookResult, error) {
		return nil, kit.Stall("Gate", "GateClosed", "the gate is closed; open it")
	})
	s := newStage(t, &scripted{}, Options{Hooks: hooks.hooks()})
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

func TestHookLeavesAnItemToOthers(t *testing.T) {
	for _, at := range []HookType{HookStart, HookDuringResponsibilityCheck, HookAfterResponsibilityCheck} {
		t.Run(string(at), func(t *testing.T) {
			hooks := &journal{}
			hooks.answer(at, func(call HookCall) (*HookResult, error) {
				return &HookResult{AbortReconcile: call.DeployItem.Name == "left"}, nil
			})
			s := newStage(t, &scripted{}, Options{Hooks: hooks.hooks()})
			left, done := s.create("left"), s.create("done")
			s.trigger(left)
			s.trigger(done)
			s.finished(done)
			require.Eventually(t, func() bool { return hooks.saw(at) > 1 }, patience, time.Millisecond)
			require.NoError(t, s.client().Get(t.Context(), keyOfItem(left), left))
			assert.Empty(t, left.Status.Phase)
		})
	}
}

func TestHookSeesThatAJobIsInterrupted(t *testing.T) {
	for name, ensure := range map[string]func(ctx context.Context, item *Item) (Outcome, error){
		"waiting": func(context.Context, *Item) (Outcome, error) { return Outcome{Waiting: "for ever"}, nil },
		"in a call": func(ctx context.Context, _ *Item) (Outcome, error) {
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			hooks := &journal{}
			s := newStage(t, &scripted{ensure: ensure}, Options{Hooks: hooks.hooks()})
			item := s.create("item")
			s.trigger(item)
			s.underWay(item, func() bool { return item.Status.Phase == v1alpha1.PhaseProgressing })
			require.Eventually(t, func() bool {
				ensured, _ := s.deployer.calls()
				return ensured > 0
			}, patience, time.Millisecond)
			s.change(item, func() {
				kit.Fail(item, &kit.Failure{Kind: kit.Stalled, Operation: "InterruptOperation", Reason: "Interrupted", Err: errors.New("by hand")}, time.Now())
			})
			require.Eventually(t, func() bool { return hooks.saw(HookBeforeAbort) == 1 }, patience, time.Millisecond)
			other := s.create("other", func(item *v1alpha1.DeployItem) { item.Spec.Timeout = &v1alpha1.Duration{Duration: time.Second} })
			s.trigger(other)
			s.finished(other)
			assert.Equal(t, 1, hooks.saw(HookBeforeAbort), "a job that the process ends itself is not interrupted")
		})
	}
}

func TestHookGivesAnItemAJobOfItsOwn(t *testing.T) {
	hooks := &journal{}
	hooks.answer(HookShouldReconcile, func(call HookCall) (*HookResult, error) {
		return &HookResult{AbortReconcile: call.DeployItem.Labels["again"] == "" || len(call.DeployItem.Status.JobIDFinished) > 36}, nil
	})
	s := newStage(t, &scripted{}, Options{Hooks: hooks.hooks()})
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
	hooks := &journal{}
	hooks.answer(HookShouldReconcile, func(HookCall) (*HookResult, error) { return nil, errors.New("no idea") })
	s := newStage(t, &scripted{}, Options{Hooks: hooks.hooks(), MinRetryDelay: 10 * time.Millisecond})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	since := time.Now()
	require.Eventually(t, func() bool { return hooks.saw(HookShouldReconcile) > 3 }, patience, time.Millisecond, "it is tried again")
	assert.Empty(t, s.requests(since))
}

func TestUnknownPointIsRefused(t *testing.T) {
	clients, err := target.New(target.Options{})
	require.NoError(t, err)
	options := Options{Clients: clients, Hooks: Hooks{"Never": nil}}
	assert.ErrorContains(t, options.complete(), `hooks at "Never" never run; use one of [Start`)
}
