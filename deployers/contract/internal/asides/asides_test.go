// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package asides

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
)

func TestNoWorkerLeavesACallWhenTheProcessEnds(t *testing.T) {
	a := New[int](1, nil)
	c := &Call[int]{asides: a, job: &jobs.Job{}, room: make(chan struct{}), done: make(chan struct{})}
	c.Leave()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, a.Wait(ctx))
	assert.False(t, a.detach(c), "nobody would wait for its end")
}

// TestRoomOfAsides fills the room of eight by the owners given and tells who had to stay with the worker.
func TestRoomOfAsides(t *testing.T) {
	for name, tc := range map[string]struct{ asking, granted string }{
		"everybody gets the first half":         {"aaaa", "aaaa"},
		"one owner gets no more than that":      {"aaaaa", "aaaa"},
		"the rest is for others":                {"aaaaabb", "aaaabb"},
		"an owner gets a quarter of the rest":   {"aaaabbb", "aaaabb"},
		"the last goes to whoever has less":     {"aaaabbbccc", "aaaabbcc"},
		"nobody gets what is not there":         {"aaaabbccd", "aaaabbcc"},
		"those who have little overtake others": {"aaaaaaaab", "aaaab"},
	} {
		t.Run(name, func(t *testing.T) {
			a := New[int](8, nil)
			granted := ""
			for _, owner := range tc.asking {
				c := &Call[int]{asides: a, owners: []string{string(owner)}, room: make(chan struct{})}
				c.Leave()
				if c.hasRoom {
					granted += string(owner)
				}
			}
			assert.Equal(t, tc.granted, granted)
		})
	}
}

func TestRoomIsHandedOnInOrder(t *testing.T) {
	a := New[int](1, nil)
	calls := make([]*Call[int], 3)
	for i := range calls {
		calls[i] = &Call[int]{asides: a, owners: []string{"a"}, room: make(chan struct{}), done: make(chan struct{})}
		calls[i].Leave()
	}
	a.finish(calls[1]) // it did not get to wait
	a.finish(calls[0])
	assert.True(t, calls[2].hasRoom)
	a.finish(calls[2])
	assert.Empty(t, a.held)
	assert.Zero(t, a.total)
	assert.Empty(t, a.waiting)
}

func TestTheAnswerForAnItemThatIsGoneIsForgotten(t *testing.T) {
	a := New[int](1, nil)
	job := &jobs.Job{}
	a.detached[job.Key] = &Call[int]{job: job, isOver: true}
	a.Forget(job.Key)
	assert.Empty(t, a.detached)
}
