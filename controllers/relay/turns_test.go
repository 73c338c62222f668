// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newTurns(all, caller, namespace int) *turns {
	return &turns{all: all, caller: caller, namespace: namespace, waiting: 2, working: map[tenant]int{}}
}

// queued takes a turn beside the test and returns when it is in the queue. What comes is the end of the turn.
func queued(t *testing.T, turns *turns, of tenant) <-chan func() {
	t.Helper()
	turns.mu.Lock()
	own := &turn{of, make(chan struct{})}
	turns.queue = append(turns.queue, own)
	turns.mu.Unlock()
	ends := make(chan func(), 1)
	go func() {
		<-own.begin
		ends <- func() { turns.end(of) }
	}()
	return ends
}

func begins(t *testing.T, turns *turns, of tenant) func() {
	t.Helper()
	end, err := turns.take(t.Context(), of)
	require.NoError(t, err)
	return end
}

// isFull reports whether a further request would have to wait.
func isFull(t *testing.T, turns *turns, of tenant) bool {
	t.Helper()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	end, err := turns.take(ended, of)
	if err == nil { // both were possible
		end()
		return false
	}
	require.ErrorIs(t, err, context.Canceled)
	turns.mu.Lock()
	defer turns.mu.Unlock()
	return turns.total >= turns.all || turns.working[of] >= turns.namespace || turns.working[of.anywhere()] >= turns.caller
}

func TestTurnsAreLimited(t *testing.T) {
	for name, tc := range map[string]struct {
		working []tenant
		asks    tenant
		full    bool
	}{
		"nobody works":              {nil, tenant{"east", "shop"}, false},
		"a namespace of one caller": {[]tenant{{"east", "shop"}, {"east", "shop"}}, tenant{"east", "shop"}, true},
		"another namespace":         {[]tenant{{"east", "shop"}, {"east", "shop"}}, tenant{"east", "team"}, false},
		"the namespace, by another": {[]tenant{{"east", "shop"}, {"east", "shop"}}, tenant{"west", "shop"}, false},
		"a caller in namespaces":    {[]tenant{{"east", "a"}, {"east", "b"}, {"east", "c"}}, tenant{"east", "d"}, true},
		"another caller":            {[]tenant{{"east", "a"}, {"east", "b"}, {"east", "c"}}, tenant{"west", "d"}, false},
		"all":                       {[]tenant{{"east", "a"}, {"east", "b"}, {"east", "c"}, {"west", "a"}}, tenant{"south", "a"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			turns := newTurns(4, 3, 2)
			for _, one := range tc.working {
				begins(t, turns, one)
			}
			assert.Equal(t, tc.full, isFull(t, turns, tc.asks))
		})
	}
}

func TestATurnThatEndsIsFree(t *testing.T) {
	turns := newTurns(1, 1, 1)
	for range 3 {
		begins(t, turns, tenant{"east", "shop"})()
	}
	assert.Zero(t, turns.total)
	assert.Empty(t, turns.working)
	assert.Empty(t, turns.queue)
}

func TestWhoHasLeastIsNext(t *testing.T) {
	turns := newTurns(3, 3, 3)
	end := begins(t, turns, tenant{"east", "a"})
	begins(t, turns, tenant{"east", "b"})
	begins(t, turns, tenant{"south", "a"})
	greedy := queued(t, turns, tenant{"east", "c"})
	modest := queued(t, turns, tenant{"west", "a"})
	end()
	next := <-modest
	assert.Empty(t, greedy, "it came first, and has more")
	next()
	<-greedy
}

func TestOnlySoManyWait(t *testing.T) {
	turns := newTurns(1, 1, 1)
	begins(t, turns, tenant{"east", "a"})
	queued(t, turns, tenant{"east", "a"})
	queued(t, turns, tenant{"east", "b"})
	_, err := turns.take(t.Context(), tenant{"east", "c"})
	require.ErrorIs(t, err, errBusy)
	assert.Len(t, turns.queue, 2)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = turns.take(ended, tenant{"west", "a"})
	require.ErrorIs(t, err, context.Canceled, "another caller may wait")
	assert.Len(t, turns.queue, 2, "who gives up waits no more")
}
