// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEchoReturnsAtOnceWhenTheCacheShowsIt(t *testing.T) {
	var echo Echo
	require.NoError(t, echo.Await(t.Context(), func() (bool, error) { return true, nil }))
}

func TestEchoAsksAgainAfterAChange(t *testing.T) {
	var echo Echo
	var asked atomic.Int32
	require.NoError(t, echo.Await(t.Context(), func() (bool, error) {
		if asked.Add(1) == 1 {
			go echo.Changed()
			return false, nil
		}
		return true, nil
	}))
	assert.EqualValues(t, 2, asked.Load())
}

func TestEchoPassesProblemsOn(t *testing.T) {
	var echo Echo
	problem := errors.New("cannot read")
	assert.ErrorIs(t, echo.Await(t.Context(), func() (bool, error) { return false, problem }), problem)
}

func TestEchoGivesUpWithItsContext(t *testing.T) {
	var echo Echo
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, echo.Await(ctx, func() (bool, error) { return false, nil }), ErrStop)
}
