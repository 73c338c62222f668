// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunReturnsTheResult(t *testing.T) {
	got, err := Run(context.Background(), NewPool(1), time.Second, nil, func(context.Context) (int, error) { return 7, nil })
	require.NoError(t, err)
	assert.Equal(t, 7, got)
}

func TestRunLeavesASlowCallBehind(t *testing.T) {
	pool := NewPool(1)
	release := make(chan struct{})
	slow := func(context.Context) (int, error) { <-release; return 0, nil }
	_, err := Run(context.Background(), pool, time.Millisecond, nil, slow)
	require.ErrorIs(t, err, ErrTime)
	_, err = Run(context.Background(), pool, time.Millisecond, nil, slow)
	require.ErrorIs(t, err, ErrBusy)
	close(release)
	_, err = Run(context.Background(), pool, time.Minute, nil, slow)
	assert.NoError(t, err)
}

func TestRunTurnsAPanicIntoAnError(t *testing.T) {
	_, err := Run(context.Background(), NewPool(1), time.Second, nil, func(context.Context) (int, error) { panic("boom") })
	require.ErrorContains(t, err, "the engine panicked (string) at bounded.TestRunTurnsAPanicIntoAnError")
	assert.NotContains(t, err.Error(), "boom")
}

func TestRunReturnsWhatWasThrownOnPurpose(t *testing.T) {
	boom := errors.New("boom")
	isBoom := func(err error) bool { return errors.Is(err, boom) }
	_, err := Run(context.Background(), NewPool(1), time.Second, isBoom, func(context.Context) (int, error) { panic(boom) })
	assert.Equal(t, boom, err)
}
