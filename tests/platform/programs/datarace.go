// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"testing"
)

const (
	raceMarker = "WARNING: DATA RACE"
	raceBytes  = 8 << 10
	// raceOptions end a program at its first data race, so that no test goes on with what it did.
	raceOptions = "GORACE=halt_on_error=1 exitcode=66"
)

// Raced knows the logs of all processes that this test binary has started. Each log is read once.
var Raced raceLogs

type raceLogs struct {
	mu   sync.Mutex
	read map[string]int64
}

// add remembers the log of a process that is about to start.
func (r *raceLogs) add(log string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read == nil {
		r.read = map[string]int64{}
	}
	if _, known := r.read[log]; !known {
		r.read[log] = 0
	}
}

// Reports returns the data races that were reported since the last call, as the race detector describes them.
func (r *raceLogs) Reports() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var reports []string
	for log, seen := range r.read {
		added := linesAfter(log, seen)
		r.read[log] += int64(len(added))
		if at := bytes.Index(added, []byte(raceMarker)); at >= 0 {
			reports = append(reports, fmt.Sprintf("%s:\n%s", log, added[at:min(len(added), at+raceBytes)]))
		}
	}
	return reports
}

// linesAfter returns the complete lines of a log from an offset on; nothing when the log is gone.
func linesAfter(log string, offset int64) []byte {
	file, err := os.Open(log)
	if err != nil {
		return nil
	}
	defer file.Close()
	content, err := io.ReadAll(io.NewSectionReader(file, offset, math.MaxInt64-offset))
	if err != nil {
		return nil
	}
	return content[:bytes.LastIndexByte(content, '\n')+1]
}

// FailOnRace fails the test when a process has reported a data race until the test ends.
func FailOnRace(t testing.TB) {
	if !RaceDetector {
		return
	}
	t.Cleanup(func() {
		for _, report := range Raced.Reports() {
			t.Errorf("a process reported a data race in %s", report)
		}
	})
}
