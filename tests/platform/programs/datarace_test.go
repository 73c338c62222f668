// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachDataRaceOfALogIsReportedOnce(t *testing.T) {
	log := filepath.Join(t.TempDir(), "some.log")
	var logs raceLogs
	logs.add(log)
	assert.Empty(t, logs.Reports(), "there is no log yet")

	require.NoError(t, os.WriteFile(log, []byte("hello\n"+raceMarker), 0o600))
	assert.Empty(t, logs.Reports(), "the line is not complete")
	require.NoError(t, os.WriteFile(log, []byte("hello\n"+raceMarker+"\nWrite at\n"), 0o600))
	assert.Equal(t, []string{log + ":\n" + raceMarker + "\nWrite at\n"}, logs.Reports())
	assert.Empty(t, logs.Reports())
}

// RaceChild is the environment variable that makes this test binary race.
const RaceChild = "PLATFORM_TEST_RACE"

// TestADataRaceEndsItsProcess lets this test binary race with itself: see TestMain.
func TestADataRaceEndsItsProcess(t *testing.T) {
	if !RaceDetector {
		t.Skip("needs a test binary with the race detector: go test -race")
	}
	process, err := Start(Command{Name: "racer", Path: os.Args[0], Env: []string{RaceChild + "=1"}, Dir: t.TempDir()})
	require.NoError(t, err)
	<-process.Exited()
	assert.EqualError(t, process.Err(), "exit status 66")
	reports := Raced.Reports()
	require.Len(t, reports, 1, "the test of a process that races fails")
	assert.Contains(t, reports[0], "playRace")
}
