// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"runtime"
	"strings"
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
	var all sync.WaitGroup
	var ended atomic.Int32
	unpacking.Lock()
	for range many {
		all.Go(func() {
			defer room.Claim("busy").takeTurn()()
			time.Sleep(20 * time.Millisecond)
			ended.Add(1)
		})
	}
	await := func(waiting int) {
		require.Eventually(t, func() bool { return waitingForTurns() == waiting }, time.Minute, time.Millisecond)
	}
	await(many)
	var earlier int32
	all.Go(func() {
		defer room.Claim("calm").takeTurn()()
		earlier = ended.Load()
	})
	await(many + 1)
	unpacking.Unlock()
	all.Wait()
	assert.LessOrEqual(t, earlier, int32(3), "others of the busy one had their turn before")
	assert.Empty(t, room.turns.owners)
}

// waitingForTurns counts the goroutines that are halted until they may unpack.
func waitingForTurns() (waiting int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, " [sync.Mutex.Lock") && strings.Contains(stack, ".takeTurn(") {
			waiting++
		}
	}
	return waiting
}
