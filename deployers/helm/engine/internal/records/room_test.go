// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLargeRecordsOfAnOwnerWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewRoom()
		first, second := room.Claim("busy"), room.Claim("busy")
		require.True(t, first.fits(maxRecords))
		assert.False(t, second.fits(smallRecords+1))
		assert.True(t, second.fits(smallRecords), "small ones wait for nobody")
		began := time.Now()
		assert.ErrorIs(t, second.wait(t.Context(), 2*smallRecords), ErrBusy)
		assert.Equal(t, patience, time.Since(began))

		time.AfterFunc(time.Second, first.End)
		began = time.Now()
		require.NoError(t, second.wait(t.Context(), maxRecords))
		assert.Equal(t, time.Second, time.Since(began))

		calm := room.Claim("calm")
		assert.True(t, calm.fits(maxRecords/2), "another owner waits for nobody")
		third := room.Claim("third")
		assert.False(t, third.fits(maxRecords/2), "the process has a limit, too")
		time.AfterFunc(time.Second, calm.End)
		time.AfterFunc(2*time.Second, second.End)
		began = time.Now()
		require.NoError(t, third.wait(t.Context(), maxRecords))
		assert.Equal(t, 2*time.Second, time.Since(began))
		third.End()
	})
}

// Owners that take as much as they may, and keep it, leave room to all others.
func TestOwnersThatKeepTheirRoomLeaveSomeToOthers(t *testing.T) {
	room := NewRoom()
	for _, hostile := range []string{"a", "b", "c"} {
		kept := room.Claim(hostile)
		defer kept.End()
		for kept.fits(int(kept.holds()) + roomStep) {
		}
	}
	other := room.Claim("other")
	defer other.End()
	assert.True(t, other.fits(4*roomStep))
}

func TestNothingIsLeftOfClaims(t *testing.T) {
	room := NewRoom()
	first, second := room.Claim("n"), room.Claim("n")
	require.True(t, first.fits(2*roomStep))
	require.True(t, first.fits(roomStep), "what the call has is enough")
	first.giveBack(roomStep)
	assert.EqualValues(t, roomStep, first.holds())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, second.wait(ended, maxRecords), context.Canceled)
	require.NoError(t, second.wait(t.Context(), maxRecords-roomStep), "the others leave so much")
	first.End()
	first.End()
	second.End()
	assert.False(t, second.fits(2*smallRecords), "a call that has ended gets nothing")
	assert.ErrorIs(t, second.wait(t.Context(), 2*smallRecords), ErrBusy)
	assert.Zero(t, room.unpacked.Held())
}

func TestMeasuringARecordFindsWhatReadingItCosts(t *testing.T) {
	record := packed(t, `{"info":{"status":"deployed"},"hooks":[{},{},{}]}`)
	measured, spent := 0, 0
	require.NoError(t, measureRecord(record, maxRecord, &measured, Bound{}))
	_, err := readRecord(record, maxRecord, &spent, Bound{})
	require.NoError(t, err)
	assert.Equal(t, spent, measured)
	assert.ErrorIs(t, measureRecord(record, spent-1, new(int), Bound{}), errRecordTooLarge)
}
