// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// blocked is an Ensure that holds its worker until the call ends, for items that concern says.
func blocked(concern func(*Item) bool) func(context.Context, *Item) (Outcome, error) {
	return func(ctx context.Context, item *Item) (Outcome, error) {
		if !concern(item) {
			return Outcome{Done: true}, nil
		}
		<-ctx.Done()
		return Outcome{}, ctx.Err()
	}
}

// crowd creates and triggers items, many at a time.
func (s *stage) crowd(n int, change ...func(*v1alpha1.DeployItem)) {
	s.t.Helper()
	all := errgroup.Group{}
	all.SetLimit(20)
	for i := range n {
		all.Go(func() error { s.trigger(s.create(fmt.Sprintf("crowd-%d", i), change...)); return nil })
	}
	require.NoError(s.t, all.Wait())
}

// busy waits until as many calls are under way.
func (s *stage) busy(calls int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { ensured, _ := s.deployer.calls(); return ensured >= calls }, patience, 10*time.Millisecond)
}

func TestACrowdOfOneNamespaceDelaysNoOther(t *testing.T) {
	s := newStage(t, &scripted{}, Options{Concurrency: 8})
	crowded := s.namespace
	s.deployer.ensure = blocked(func(item *Item) bool { return item.DeployItem.Namespace == crowded })
	s.crowd(1000)
	s.busy(8)
	s.namespace = s.p.Namespace(t)
	s.finished(func() *v1alpha1.DeployItem { item := s.create("alone"); s.trigger(item); return item }())
	ensured, _ := s.deployer.calls()
	assert.LessOrEqual(t, ensured, 8+waitingCalls/2+1, "the crowd leaves half of the workers to others")
}

func TestASilentClusterDelaysNoOtherNamespace(t *testing.T) {
	s := newStage(t, &scripted{}, Options{Concurrency: 8})
	s.deployer.ensure = blocked(func(item *Item) bool { return item.DeployItem.Spec.Target.Name == "silent" })
	s.createTarget("silent", nil)
	s.crowd(50, named("silent"))
	s.busy(8)
	s.namespace = s.p.Namespace(t)
	s.createTarget("answering", nil)
	item := s.create("alone", named("answering"))
	s.trigger(item)
	s.finished(item)
}

// nine creates four items in each of nine namespaces, and returns how long three rounds of their jobs take, in the median.
func (s *stage) nine() func() time.Duration {
	s.t.Helper()
	var all []*v1alpha1.DeployItem
	for range 9 {
		s.namespace = s.p.Namespace(s.t)
		for i := range 4 {
			all = append(all, s.create(fmt.Sprint("item-", i)))
		}
	}
	round := func() time.Duration {
		began, triggers := time.Now(), errgroup.Group{}
		for _, item := range all {
			triggers.Go(func() error { s.trigger(item); return nil })
		}
		require.NoError(s.t, triggers.Wait())
		for _, item := range all {
			s.finished(item)
		}
		return time.Since(began)
	}
	return func() time.Duration {
		times := []time.Duration{round(), round(), round()}
		slices.Sort(times)
		return times[1]
	}
}

// TestNineNamespacesBesideOneThatTakesAllItCan measures the jobs of nine namespaces, which take a quarter of a second each, alone and beside a tenth one.
func TestNineNamespacesBesideOneThatTakesAllItCan(t *testing.T) {
	const jobTime = time.Second / 4
	for name, tc := range map[string]struct {
		jobs   int
		inTurn func(context.Context, *Item) (Outcome, error)
	}{
		"with 500 jobs": {500, func(context.Context, *Item) (Outcome, error) {
			time.Sleep(jobTime)
			return Outcome{Done: true}, nil
		}},
		"with a target that is silent": {100, blocked(func(*Item) bool { return true })},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, &scripted{}, Options{Concurrency: 8})
			crowded := s.namespace
			crowd := make([]*v1alpha1.DeployItem, tc.jobs)
			created := errgroup.Group{}
			created.SetLimit(20)
			for i := range crowd {
				created.Go(func() error { crowd[i] = s.create(fmt.Sprint("crowd-", i)); return nil })
			}
			require.NoError(t, created.Wait())
			var left atomic.Int32
			left.Store(int32(tc.jobs))
			s.deployer.ensure = func(ctx context.Context, item *Item) (Outcome, error) {
				if item.DeployItem.Namespace == crowded {
					defer left.Add(-1)
					return tc.inTurn(ctx, item)
				}
				time.Sleep(jobTime)
				return Outcome{Done: true}, nil
			}
			measure := s.nine()
			alone := measure()
			triggers := errgroup.Group{}
			triggers.SetLimit(40)
			for _, item := range crowd {
				triggers.Go(func() error { s.trigger(item); return nil })
			}
			require.NoError(t, triggers.Wait())
			beside := measure()
			t.Logf("alone %s, beside the tenth %s", alone, beside)
			assert.Less(t, beside, 2*alone)
			assert.Positive(t, left.Load(), "the tenth had work all the time")
		})
	}
}
