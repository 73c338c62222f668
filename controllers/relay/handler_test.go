// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestContentHasItsTimeWhenItsTurnBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Handler{options: Options{Timeout: time.Minute}, turns: newTurns(1, 1, 1, 8)}
		_, end, err := h.begin(t.Context(), tenant{"east", "a"})
		require.NoError(t, err)
		var group sync.WaitGroup
		group.Go(func() {
			ctx, end, err := h.begin(t.Context(), tenant{"west", "a"})
			if !assert.NoError(t, err) {
				return
			}
			defer end()
			deadline, _ := ctx.Deadline()
			assert.Equal(t, time.Minute, time.Until(deadline))
			assert.NoError(t, ctx.Err())
		})
		time.Sleep(maxWait - time.Second)
		end()
		group.Wait()
	})
}

func TestNobodyWaitsForATurnWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Handler{options: Options{Timeout: time.Minute}, turns: newTurns(1, 1, 1, 8)}
		_, end, err := h.begin(t.Context(), tenant{"east", "a"})
		require.NoError(t, err)
		defer end()
		begun := time.Now()
		_, _, err = h.begin(t.Context(), tenant{"west", "a"})
		require.ErrorIs(t, err, errBusy)
		assert.Equal(t, maxWait, time.Since(begun))
	})
}
