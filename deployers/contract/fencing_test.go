// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// held is a deployer whose first call lasts until release is closed or its context ends.
type held struct {
	*scripted
	began   chan struct{}
	release chan struct{}
	ended   chan error
}

func newHeld() *held {
	h := &held{began: make(chan struct{}), release: make(chan struct{}), ended: make(chan error, 1)}
	first := true
	h.scripted = &scripted{ensure: func(ctx context.Context, item *Item) (Outcome, error) {
		if !first {
			return Outcome{Done: true}, nil
		}
		first = false
		close(h.began)
		select {
		case <-ctx.Done():
			h.ended <- context.Cause(ctx)
			return Outcome{}, ctx.Err()
		case <-h.release:
			return Outcome{Done: true}, nil
		}
	}}
	return h
}

func TestInterruptCancelsTheCall(t *testing.T) {
	h := newHeld()
	s := newStage(t, h.scripted, Options{})
	item := s.create("item")
	s.trigger(item)
	<-h.began
	s.change(item, func() { item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID })
	version := item.ResourceVersion
	assert.ErrorIs(t, <-h.ended, errInterrupted)
	other := s.create("other")
	s.trigger(other)
	s.finished(other)
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, version, item.ResourceVersion, "the result of an interrupted call is not written")
}

func TestResultAfterAnInterruptIsDropped(t *testing.T) {
	h := newHeld()
	h.ensure = func(_ context.Context, item *Item) (Outcome, error) {
		if item.DeployItem.Name == "item" {
			close(h.began)
			<-h.release
		}
		return Outcome{Done: true}, nil
	}
	s := newStage(t, h.scripted, Options{Concurrency: 1})
	item := s.create("item")
	s.trigger(item)
	<-h.began
	s.change(item, func() { item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID })
	other := s.create("other")
	s.trigger(other)
	close(h.release)
	s.finished(other)
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
}

func TestNewJobReplacesARunningOne(t *testing.T) {
	h := newHeld()
	s := newStage(t, h.scripted, Options{})
	item := s.create("item")
	s.trigger(item)
	<-h.began
	s.trigger(item)
	assert.ErrorIs(t, <-h.ended, errInterrupted)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	ensured, _ := s.deployer.calls()
	assert.Equal(t, 2, ensured)
}

func TestChangedMetadataDoesNotLoseTheResult(t *testing.T) {
	h := newHeld()
	s := newStage(t, h.scripted, Options{})
	item := s.create("item")
	since := s.trigger(item)
	<-h.began
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	item.Labels = map[string]string{"touched": "yes"}
	require.NoError(t, s.client().Update(t.Context(), item))
	close(h.release)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.Equal(t, "yes", item.Labels["touched"])
	assert.Equal(t, []string{"update deployitems/status", "update deployitems/status", "get deployitems", "update deployitems/status"}, s.requests(since))
}

func TestDeletedItemEndsTheCall(t *testing.T) {
	h := newHeld()
	s := newStage(t, h.scripted, Options{})
	item := s.create("item")
	s.trigger(item)
	<-h.began
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	item.Finalizers = nil
	require.NoError(t, s.client().Update(t.Context(), item))
	require.NoError(t, s.client().Delete(t.Context(), item))
	assert.ErrorIs(t, <-h.ended, errInterrupted)
}

func TestStoppedProcessLeavesTheJobRunning(t *testing.T) {
	h := newHeld()
	s := newStage(t, h.scripted, Options{})
	item := s.create("item")
	s.trigger(item)
	<-h.began
	s.stop()
	assert.ErrorIs(t, <-h.ended, context.Canceled)
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, v1alpha1.PhaseProgressing, item.Status.Phase)
	assert.Nil(t, item.Status.LastError)
}
