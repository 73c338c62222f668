// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const childMarker = "PLATFORM_TEST_PARENT"

func sleeper(t *testing.T, script string) *programs.Process {
	process, err := programs.Start(programs.Command{
		Name: "sleeper", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"GREETING=hello"}, Dir: t.TempDir(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, process.Kill9()) })
	return process
}

func TestProcessIsGoneAfterKill9(t *testing.T) {
	process := sleeper(t, "exec sleep 100")

	require.NoError(t, process.Kill9())

	assert.False(t, process.Running())
	assert.ErrorIs(t, syscall.Kill(process.PID(), 0), syscall.ESRCH)
	assert.EqualError(t, process.Err(), "signal: killed")
}

func TestStopKillsWhoIgnoresIt(t *testing.T) {
	process := sleeper(t, "trap '' TERM; echo ready; while :; do sleep 100; done")

	require.NoError(t, process.Stop(10*time.Millisecond))

	assert.False(t, process.Running())
}

func TestRestartRunsTheSameCommandAgain(t *testing.T) {
	process := sleeper(t, `echo "$GREETING"`)
	<-process.Exited()
	first := process.PID()

	require.NoError(t, process.Restart())
	<-process.Exited()

	assert.NotEqual(t, first, process.PID())
	assert.Equal(t, "hello\nhello", process.LogTail(10))
	assert.NoError(t, process.Err())
}

func TestPeakMemoryIsKnownAfterTheEnd(t *testing.T) {
	process := sleeper(t, "true")
	<-process.Exited()

	assert.Greater(t, process.PeakMemory(), int64(64<<10))
}

// playParent is what this test binary does when TestProcessEndsWithItsParent starts it: start a process, say its id, wait.
func playParent() {
	process, err := programs.Start(programs.Command{
		Name: "orphan", Path: "/bin/sh", Args: []string{"-c", "exec sleep 100"}, Dir: os.Getenv(childMarker),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(process.PID())
	<-process.Exited()
}

// playRace is what this test binary does when TestADataRaceEndsItsProcess starts it.
func playRace() {
	done, count := make(chan struct{}), 0
	for range 2 {
		go func() {
			count++
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	os.Exit(count)
}

func TestProcessEndsWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), childMarker+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	orphan, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(orphan, 0), "the process must run at first")

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())

	assert.Eventually(t, func() bool { return !alive(orphan) }, pace.Within(10*time.Second), 10*time.Millisecond)
}

// alive reports whether the process runs; one that waits for its new parent to collect it does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestMain(m *testing.M) {
	if os.Getenv(childMarker) != "" {
		playParent()
	}
	if os.Getenv(programs.RaceChild) != "" {
		playRace()
	}
	os.Exit(m.Run())
}
