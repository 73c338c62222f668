// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

func TestNobodyWaitsWithASmallRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record, room := packed(t, `{"info":{"status":"deployed"}}`), NewRoom()
		end, err := boundOf(t, room, "calm").takeTurn() // of a large one
		require.NoError(t, err)
		_, err = readRecord(record, maxRecord, new(int), boundOf(t, room, "calm"))
		require.NoError(t, err)
		end()
	})
}

// TestLargeRecordsOfOneOwnerAreInNobodysWay has one owner unpack many when another comes.
func TestLargeRecordsOfOneOwnerAreInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, length = 20, 20 * time.Millisecond
		room := NewRoom()
		for range many {
			go func() {
				end, err := boundOf(t, room, "busy").takeTurn()
				assert.NoError(t, err)
				time.Sleep(length)
				end()
			}()
		}
		synctest.Wait()
		began := time.Now()
		end, err := boundOf(t, room, "calm").takeTurn()
		require.NoError(t, err)
		assert.LessOrEqual(t, time.Since(began), 2*length, "others of the busy one had their turn before")
		end()
		time.Sleep(many*length + time.Duration(float64(atOnce)/room.turns.share))
		assert.Empty(t, room.turns.owners)
	})
}

// TestLargeRecordsOfAnOwnerTakeTheirShareOfTime unpacks so many that what may be taken at once has been taken.
func TestLargeRecordsOfAnOwnerTakeTheirShareOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewRoom()
		room.turns.share = 0.25
		took := func(owner string, length time.Duration) time.Duration {
			began := time.Now()
			end, err := boundOf(t, room, owner).takeTurn()
			require.NoError(t, err)
			time.Sleep(length)
			end()
			return time.Since(began)
		}
		assert.Equal(t, atOnce+4*time.Second, took("busy", atOnce+4*time.Second))
		assert.Equal(t, time.Second, took("calm", time.Second), "what another one takes is nothing to it")
		assert.InDelta(t, (16 * time.Second).Seconds(), took("busy", time.Second).Seconds(), 0.1)
		ended, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cancel()
		_, err := Bound{Context: ended, Claim: room.Claim("busy")}.takeTurn()
		require.ErrorIs(t, err, errNoTurn)
		assert.ErrorIs(t, err, context.Canceled)
		time.Sleep(time.Hour)
		assert.Empty(t, room.turns.owners)
		assert.Equal(t, atOnce, took("busy", atOnce))
	})
}

// TestACallThatEndsWaitsForNoTurn ends it while another one of its owner has the turn.
func TestACallThatEndsWaitsForNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewRoom()
		end, err := boundOf(t, room, "busy").takeTurn()
		require.NoError(t, err)
		ended, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		kept := checked{bound: Bound{Context: ended, Claim: room.Claim("busy")}, kept: inSecrets{}}
		large := stored{name: "large", packed: packed(t, `{"info":{"status":"deployed"},"manifest":"`+strings.Repeat("x", 2*smallRecords)+`"}`)}
		_, _, err = kept.readAll([]stored{large}, maxRecords)
		require.ErrorIs(t, err, errNoTurn)
		assert.NotContains(t, err.Error(), "delete it", "nothing is wrong with the record")
		_, err = kept.costOf([]stored{large}, maxRecords, 0)
		assert.NotContains(t, err.Error(), "delete it")
		end()
		_, _, err = checked{bound: boundOf(t, room, "busy")}.readAll([]stored{large}, maxRecords)
		require.NoError(t, err)
		time.Sleep(time.Hour)
	})
}

func TestTheShareOfAnOwnerGrowsWithTheProcessors(t *testing.T) {
	for processors, share := range map[int]float64{1: 0.125, 2: 0.25, 8: 1, 64: 1} {
		assert.InDelta(t, share, shareOf(processors), 1e-9, processors)
	}
}

// TestRecordsWithoutRoomAreMeasuredOnce has room for the first of three.
func TestRecordsWithoutRoomAreMeasuredOnce(t *testing.T) {
	room := NewRoom()
	room.unpacked = memory.NewRoom(8*smallRecords, 1) // of which one owner gets half
	var all []stored
	for _, name := range []string{"first", "second", "third"} {
		all = append(all, stored{name: name, packed: packed(t, `{"info":{"status":"deployed"},"manifest":"`+strings.Repeat("x", 2*smallRecords)+`"}`)})
	}
	kept := checked{bound: boundOf(t, room, "busy")}
	defer kept.bound.Claim.End()
	found, spent, err := kept.readAll(all, maxRecords)
	require.ErrorIs(t, err, ErrBusy)
	require.Len(t, found, 1)
	each, err := kept.costOf(all[:1], maxRecords, 0)
	require.NoError(t, err)
	assert.Equal(t, 2*each, spent, "what was read, and what has no room")
	spent, err = kept.costOf(all[2:], maxRecords, spent)
	require.NoError(t, err)
	assert.Equal(t, 3*each, spent)
}

func boundOf(t *testing.T, room *Room, owner string) Bound {
	return Bound{Context: t.Context(), Claim: room.Claim(owner)}
}
