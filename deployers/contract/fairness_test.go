// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
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
	assert.Equal(t, 9, ensured, "the crowd got its workers and no more, and all of them")
}

func TestASilentClusterDelaysNoOther(t *testing.T) {
	s := newStage(t, &scripted{}, Options{Concurrency: 8})
	s.deployer.ensure = blocked(func(item *Item) bool { return item.DeployItem.Spec.Target.Name == "silent" })
	s.createTarget("silent", nil)
	s.createTarget("answering", nil)
	s.crowd(50, named("silent"))
	s.busy(8)
	item := s.create("alone", named("answering"))
	s.trigger(item)
	s.finished(item)
}
