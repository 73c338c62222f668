// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNobodyWaitsWithASmallRecord(t *testing.T) {
	record := packed(t, `{"info":{"status":"deployed"}}`)
	unpacking.Lock() // somebody unpacks a large one
	defer unpacking.Unlock()
	read := make(chan error, 1)
	go func() {
		spent := 0
		_, err := readRecord(record, maxRecord, &spent, NewRoom().Claim("calm"))
		read <- err
	}()
	select {
	case err := <-read:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for the large record of another")
	}
}

// TestLargeRecordsOfOneOwnerAreInNobodysWay has one owner unpack many when another comes.
func TestLargeRecordsOfOneOwnerAreInNobodysWay(t *testing.T) {
	const many = 20
	room := NewRoom()
	var waiting, all sync.WaitGroup
	var ended atomic.Int32
	unpacking.Lock()
	waiting.Add(many)
	for range many {
		all.Go(func() {
			waiting.Done()
			defer room.Claim("busy").takeTurn()()
			time.Sleep(20 * time.Millisecond)
			ended.Add(1)
		})
	}
	waiting.Wait()
	time.Sleep(20 * time.Millisecond)
	unpacking.Unlock()
	room.Claim("calm").takeTurn()()
	assert.LessOrEqual(t, ended.Load(), int32(3), "others of the busy one had their turn before")
	all.Wait()
	assert.Empty(t, room.turns.owners)
}
