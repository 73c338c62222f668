// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var echoing = NewProgram("echo", func(_ context.Context, _ *Parent, text string) (string, error) { return text, nil })

// newChild starts one child of a pool by hand.
func newChild(t *testing.T, pool *Pool[string, string]) *child[string, string] {
	t.Helper()
	t.Cleanup(pool.Close)
	started, err := startChild(echoing.name, pool.limits.Memory, pool.ended)
	require.NoError(t, err)
	t.Cleanup(started.kill)
	pool.children++
	return started
}

func TestWaitingOutlastsAChildThatCannotBeStarted(t *testing.T) {
	pool := NewPool(echoing, Limits{Children: 2})
	busy := newChild(t, pool)
	pool.running["a"]++
	w := &waiter[string, string]{owner: "b", given: make(chan seat[string, string], 1)}
	pool.waiting = append(pool.waiting, w)
	pool.limits.Memory = -1 // no child can use that
	pool.children, pool.starting = 2, 1
	pool.start()
	require.Empty(t, w.given, "the child of another job will be free")
	pool.release(busy, &waiter[string, string]{owner: "a"}, true)
	require.Len(t, w.given, 1)
	given := <-w.given
	require.NoError(t, given.err)
	assert.Same(t, busy, given.child)
}

func TestWaitingEndsWhenNoChildCanBeStarted(t *testing.T) {
	pool := NewPool(echoing, Limits{})
	pool.limits.Memory = -1
	_, err := pool.Run(t.Context(), Job{}, "")
	require.ErrorIs(t, err, ErrNotStarted)
}

func TestChildThatIsGoneGetsNoJob(t *testing.T) {
	pool := NewPool(echoing, Limits{})
	gone := newChild(t, pool)
	pool.running["a"]++
	gone.kill()
	<-gone.process.ended
	pool.release(gone, &waiter[string, string]{owner: "a"}, true)
	assert.Empty(t, pool.idle)
	out, err := pool.Run(t.Context(), Job{}, "x")
	require.NoError(t, err)
	assert.Equal(t, "x", out)
}
