// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestEchoReturnsAtOnceWhenTheCacheShowsIt(t *testing.T) {
	var known echo
	require.NoError(t, known.await(t.Context(), func() (bool, error) { return true, nil }))
}

func TestEchoAsksAgainAfterAChange(t *testing.T) {
	var known echo
	var asked atomic.Int32
	require.NoError(t, known.await(t.Context(), func() (bool, error) {
		if asked.Add(1) == 1 {
			go known.changed()
			return false, nil
		}
		return true, nil
	}))
	assert.EqualValues(t, 2, asked.Load())
}

func TestEchoPassesProblemsOn(t *testing.T) {
	var known echo
	problem := errors.New("cannot read")
	assert.ErrorIs(t, known.await(t.Context(), func() (bool, error) { return false, problem }), problem)
}

func TestEchoGivesUpWithItsContext(t *testing.T) {
	var known echo
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, known.await(ctx, func() (bool, error) { return false, nil }), kit.ErrStop)
}
