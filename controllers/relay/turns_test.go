// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	return !turns.mayBegin(of)
}

func TestTurnsAreLimited(t *testing.T) {
	const helm, container = "system:serviceaccount:east:helm", "system:serviceaccount:east:container"
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
		"the last of a caller, for a namespace that has one": {[]tenant{{"east", "a"}, {"east", "b"}}, tenant{"east", "a"}, true},
		"the last of a caller, for another namespace":        {[]tenant{{"east", "a"}, {"east", "b"}}, tenant{"east", "c"}, false},
		"the last of all, for a fence that has some":         {[]tenant{{helm, "a"}, {helm, "b"}, {"west", "a"}}, tenant{container, "c"}, true},
		"the last of all, for another fence":                 {[]tenant{{helm, "a"}, {helm, "b"}, {container, "a"}}, tenant{"west", "a"}, false},
		"in any namespace":                                   {[]tenant{{"east", ""}, {"east", ""}}, tenant{"east", ""}, true},
		"all":                                                {[]tenant{{"east", "a"}, {"east", "b"}, {"east", "c"}, {"west", "a"}}, tenant{"south", "a"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			turns := newTurns(4, 3, 2, 2)
			for _, one := range tc.working {
				begins(t, turns, one)
			}
			assert.Equal(t, tc.full, isFull(t, turns, tc.asks))
		})
	}
}

func TestATurnThatEndsIsFree(t *testing.T) {
	turns := newTurns(1, 1, 1, 2)
	for range 3 {
		begins(t, turns, tenant{"east", "shop"})()
	}
	assert.Zero(t, turns.total)
	assert.Empty(t, turns.working)
	assert.Empty(t, turns.fences)
	assert.Empty(t, turns.queue)
}

func TestACallerInAnyNamespaceHasAllOfItsTurns(t *testing.T) {
	turns := newTurns(8, 3, 3, 2)
	for range 2 {
		begins(t, turns, tenant{caller: "east"})
	}
	assert.False(t, isFull(t, turns, tenant{caller: "east"}))
}

// waitTogether has all turns taken, two requests wait, and others end. The second request is next.
func waitTogether(t *testing.T, turns *turns, working []tenant, first, second tenant, ending ...tenant) {
	t.Helper()
	for _, one := range working {
		begins(t, turns, one)
	}
	greedy, modest := turns.enter(first), turns.enter(second)
	for _, one := range ending {
		turns.end(one)
	}
	assert.Len(t, modest.begin, 1)
	assert.Empty(t, greedy.begin, "it came first, and has more")
	turns.end(second)
	assert.Len(t, greedy.begin, 1)
}

func TestWhoHasLeastIsNext(t *testing.T) {
	for name, tc := range map[string]struct {
		turns         *turns
		working       []tenant
		first, second tenant
		ending        []tenant
	}{
		"a caller": {
			newTurns(5, 4, 3, 2),
			[]tenant{{"east", "a"}, {"east", "b"}, {"east", "c"}, {"south", "a"}, {"west", "a"}}, tenant{"east", "d"}, tenant{"south", "b"},
			[]tenant{{"west", "a"}, {"east", "c"}},
		},
		"a namespace of a caller": {
			newTurns(8, 5, 3, 2),
			[]tenant{{"east", "a"}, {"east", "a"}, {"east", "b"}, {"east", "c"}, {"east", "d"}}, tenant{"east", "a"}, tenant{"east", "b"},
			[]tenant{{"east", "d"}, {"east", "c"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			waitTogether(t, tc.turns, tc.working, tc.first, tc.second, tc.ending...)
		})
	}
}

func TestOnlySoManyWait(t *testing.T) {
	turns := newTurns(1, 1, 1, 2)
	begins(t, turns, tenant{"east", "a"})
	turns.enter(tenant{"east", "a"})
	turns.enter(tenant{"east", "b"})
	_, err := turns.take(t.Context(), tenant{"east", "c"})
	require.ErrorIs(t, err, errBusy)
	assert.Len(t, turns.queue, 2)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = turns.take(ended, tenant{"west", "a"})
	require.ErrorIs(t, err, context.Canceled, "another caller may wait")
	assert.Len(t, turns.queue, 2, "who gives up waits no more")
}

func TestWhoWaitsMostMakesWay(t *testing.T) {
	turns := newTurns(1, 1, 1, 2)
	begins(t, turns, tenant{"east", "a"})
	first := turns.enter(tenant{"east", "a"})
	last := turns.enter(tenant{"east", "a"})
	other := turns.enter(tenant{"east", "b"})
	require.Len(t, last.begin, 1)
	require.ErrorIs(t, <-last.begin, errBusy)
	assert.Equal(t, []*turn{first, other}, turns.queue)
}
