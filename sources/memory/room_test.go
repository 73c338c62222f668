// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewRoom(100*kilo, kilo)
		first, second := room.Claim("busy"), room.Claim("busy")
		require.True(t, first.Fits(50*kilo), "half of what there is")
		assert.False(t, second.Fits(1))
		assert.True(t, room.Claim("calm").Fits(25*kilo), "half of what the others leave")

		patience, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.False(t, second.Wait(patience, 1))
		time.AfterFunc(time.Second, func() { first.GiveBack(10*kilo - 1) })
		began := time.Now()
		assert.True(t, second.Wait(t.Context(), 20*kilo))
		assert.Equal(t, time.Second, time.Since(began))
		assert.EqualValues(t, 10*kilo, first.Holds(), "what is given back leaves whole steps")
		first.End()
		assert.False(t, first.Wait(t.Context(), 1), "a call that has ended gets nothing")
		second.End()
		second.End()
		assert.EqualValues(t, 25*kilo, room.Held())
		assert.Len(t, room.held, 1)
	})
}
