// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFewCallsHaveLargeChartsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Options{})
		require.NoError(t, err)
		waiting := 0
		begin := func() (context.Context, func()) { return e.Session(OnWait(t.Context(), func() { waiting++ })) }
		var ends []func()
		for range largeCharts {
			ctx, end := begin()
			require.NoError(t, e.Reserve(ctx, largeChart))
			require.NoError(t, e.Reserve(ctx, largeChart), "a call has one slot")
			ends = append(ends, end)
		}
		small, endSmall := begin()
		require.NoError(t, e.Reserve(small, largeChart-1), "nobody waits with a chart of the usual size")
		endSmall()

		ctx, end := begin()
		time.AfterFunc(time.Second, ends[0])
		began := time.Now()
		require.NoError(t, e.Reserve(ctx, largeChart))
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, 1, waiting)

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		late, endLate := e.Session(OnWait(ended, func() {}))
		require.ErrorIs(t, e.Reserve(late, largeChart), context.Canceled)
		endLate()
		end()
		ends[1]()
	})
}
