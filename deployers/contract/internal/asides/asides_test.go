// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package asides

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
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

// leaving makes a call that leaves its worker, and lets it end.
func leaving(t *testing.T, job *jobs.Job, end func() int) *Asides[int] {
	t.Helper()
	ended, release := make(chan types.NamespacedName, 1), make(chan struct{})
	a := New[int](1, func(key types.NamespacedName) { ended <- key })
	_, stayed := a.Run(job, func(c *Call[int]) int {
		c.Leave()
		<-release
		return end()
	})
	require.False(t, stayed)
	require.True(t, a.IsBusy(job.Key))
	close(release)
	require.Equal(t, job.Key, <-ended)
	require.False(t, a.IsBusy(job.Key))
	return a
}

func TestTheAnswerIsForTheJobThatAsked(t *testing.T) {
	job := &jobs.Job{Key: types.NamespacedName{Namespace: "ns", Name: "item"}}
	a := leaving(t, job, func() int { return 7 })
	answer, isAnswered := a.Take(job)
	assert.True(t, isAnswered)
	assert.Equal(t, 7, answer)
	_, isAnswered = a.Take(job)
	assert.False(t, isAnswered, "it is given once")

	a = leaving(t, job, func() int { return 7 })
	_, isAnswered = a.Take(&jobs.Job{Key: job.Key})
	assert.False(t, isAnswered, "another job of the item asks")
}

func TestAPanicGoesOnInTheWorker(t *testing.T) {
	job := &jobs.Job{Key: types.NamespacedName{Namespace: "ns", Name: "item"}}
	a := leaving(t, job, func() int { panic("broken") })
	assert.Panics(t, func() { a.Take(job) })
}

func TestCallsKeepTheirWorkers(t *testing.T) {
	for name, limit := range map[string]int{"nobody may leave": 0, "it does not wait": 1} {
		t.Run(name, func(t *testing.T) {
			a := New[int](limit, func(types.NamespacedName) { assert.Fail(t, "nobody has left") })
			answer, stayed := a.Run(&jobs.Job{}, func(c *Call[int]) int {
				c.Reaches(nil)
				if limit == 0 {
					c.Leave()
				}
				return 7
			})
			assert.True(t, stayed)
			assert.Equal(t, 7, answer)
		})
	}
}

func TestOneClusterTakesHalfOfTheRoomAtMost(t *testing.T) {
	a, granted := New[int](8, nil), 0
	for _, namespace := range []string{"a", "b", "c", "d", "e", "f"} {
		c := &Call[int]{asides: a, owners: []string{namespace}, room: make(chan struct{})}
		c.Reaches(&target.Cluster{Config: &rest.Config{Host: "https://slow"}})
		c.Leave()
		if c.hasRoom {
			granted++
		}
	}
	assert.Equal(t, 4, granted, "the other half is for other clusters")
}
