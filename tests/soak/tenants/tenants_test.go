// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

const (
	// mostMemory is what a process may have resident at any time, in bytes.
	mostMemory = 400 << 20
	// spareSockets is how many open files more than before a process may keep: connections of the neighbours to their cluster stay for a while.
	spareSockets = 40
	// mostTimes is how many times as long as alone the lives of the neighbours may take beside a hostile tenant, where times are exact.
	mostTimes = 1.5
	// rounds are how many there are of an act then. Single ones differ by a quarter.
	rounds = 3
	// patience is how long they may take where many suites run side by side. Alone they take seconds.
	patience = 2 * time.Minute
)

// TestNobodyStopsSlowsOrSwells lets the neighbours live while the tenth tenant does each of its acts. Where times are exact, the median of some rounds
// counts: a machine is not equally fast at all times. What is held is checked where they are not, since connections stay for more than a minute.
func TestNobodyStopsSlowsOrSwells(t *testing.T) {
	newNeighbours(t).live(t) // so that all is open that stays open
	first := namespaces(t)
	for _, a := range slices.Concat(acts, slowActs) {
		t.Run(a.name, func(t *testing.T) {
			if !pace.IsExact() {
				requireHarmless(t, a)
				return
			}
			forgetPeaks(t)
			require.True(t, assertEventually(func() bool { return namespaces(t) <= first }, landscape.Patience), "namespaces of the act before are left")
			var times []float64
			for range rounds {
				times = append(times, timesAlone(t, a))
			}
			assert.LessOrEqual(t, median(times), mostTimes)
			requireAlive(t)
			requireSmall(t)
		})
	}
}

// samples are acts of each class of danger: large objects, programs of users, bytes of archives, servers that others name, memory, very much work, and
// long waits.
var samples = []string{
	"large inputs in messages", "GoTemplates without end", "archives that unpack to more than there is", "target that redirects",
	"target with endless answers", "hundreds of jobs at once", "target that accepts connections and says nothing",
}

// TestGateNobodyIsHurt is a sample of TestNobodyStopsSlowsOrSwells on a machine on which other suites run.
func TestGateNobodyIsHurt(t *testing.T) {
	newNeighbours(t).live(t) // so that all is open that stays open
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			all := slices.Concat(acts, slowActs)
			at := slices.IndexFunc(all, func(a act) bool { return a.name == name })
			require.GreaterOrEqual(t, at, 0)
			requireHarmless(t, all[at])
		})
	}
}

// requireHarmless lets the neighbours live beside an act, and checks that it stops nobody and that nothing of it stays.
func requireHarmless(t *testing.T, a act) {
	t.Helper()
	forgetPeaks(t)
	before := opened(t)
	defer requireIdle(t)()
	assert.LessOrEqual(t, beside(t, a), patience)
	requireAlive(t)
	requireSmall(t)
	requireReleased(t, before)
}

// namespaces counts those that are there. Their deletion keeps the API server busy for a while.
func namespaces(t testing.TB) int {
	t.Helper()
	list := &corev1.NamespaceList{}
	require.NoError(t, landscape.Shared(t).Client().List(t.Context(), list))
	return len(list.Items)
}

// timesAlone returns how many times as long the neighbours take beside an act as they took alone just before.
func timesAlone(t testing.TB, a act) float64 {
	t.Helper()
	alone := newNeighbours(t).live(t)
	times := beside(t, a).Seconds() / alone.Seconds()
	t.Logf("alone: %s; beside it %.2f times that", alone.Round(time.Millisecond), times)
	return times
}

// beside returns how long the neighbours take beside an act, which has ended and left nothing then.
func beside(t testing.TB, a act) time.Duration {
	t.Helper()
	h := newHostile(t, many)
	all := newNeighbours(t)
	a.begin(h)
	took := all.live(t)
	t.Logf("beside it: %s", took.Round(time.Millisecond))
	h.leave()
	return took
}

// median returns the middle one of an odd number of values.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// TestSoakAllAtOnce does everything at the same time.
func TestSoakAllAtOnce(t *testing.T) {
	newNeighbours(t).live(t) // so that all is open that stays open
	before := opened(t)
	defer requireIdle(t)()
	forgetPeaks(t)
	begun := time.Now()
	var all []*hostile
	for i, a := range slices.Concat(acts, slowActs) {
		h := newHostile(t, some)
		h.hasty = true
		a.begin(h)
		h.hasty = false
		if i >= len(acts) {
			h.effects = nil // they are seen where the act is alone
		}
		all = append(all, h)
	}
	for _, h := range all {
		for _, does := range h.effects {
			h.bites(does)
		}
	}
	t.Logf("all acts have begun after %s", time.Since(begun).Round(time.Millisecond))
	took := newNeighbours(t).live(t)
	t.Logf("beside all acts: %s", took.Round(time.Millisecond))
	leaving := time.Now()
	for _, h := range all {
		h.stop()
		h.abandon()
	}
	for _, h := range all {
		h.awaitGone(leaving)
	}
	requireAlive(t)
	requireSmall(t)
	requireReleased(t, before)
}

// requireAlive checks that no process has ended.
func requireAlive(t testing.TB) {
	t.Helper()
	for name, process := range landscape.Shared(t).Processes {
		require.True(t, process.Running(), "%s has ended: %v", name, process.Err())
	}
}

// requireSmall checks how much memory processes and their children have had at most.
func requireSmall(t testing.TB) {
	t.Helper()
	for name, process := range landscape.Shared(t).Processes {
		t.Logf("%s: at most %d MiB", name, process.PeakMemory()>>20)
		assert.LessOrEqual(t, process.PeakMemory()>>20, int64(mostMemory>>20), "MiB of %s", name)
	}
}

// forgetPeaks lets the system measure the most memory of each process anew.
func forgetPeaks(t testing.TB) {
	t.Helper()
	for _, process := range landscape.Shared(t).Processes {
		_ = os.WriteFile(filepath.Join("/proc", strconv.Itoa(process.PID()), "clear_refs"), []byte("5"), 0) // else the peaks of earlier acts stay
	}
}

// opened returns how many files and connections each process has open.
func opened(t testing.TB) map[string]int {
	t.Helper()
	all := map[string]int{}
	for name, process := range landscape.Shared(t).Processes {
		require.True(t, process.Running(), "%s has ended: %v", name, process.Err())
		files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(process.PID()), "fd"))
		if err != nil {
			t.Skipf("this system does not show the files of a process: %v", err)
		}
		all[name] = len(files)
	}
	return all
}

// requireReleased checks that processes do not keep what they opened for the hostile tenant.
func requireReleased(t testing.TB, before map[string]int) {
	t.Helper()
	var kept []string
	released := func() bool {
		kept = nil
		for name, count := range opened(t) {
			if count > before[name]+spareSockets {
				kept = append(kept, fmt.Sprintf("%s has %d open files, %d before", name, count, before[name]))
			}
		}
		return len(kept) == 0
	}
	if !assertEventually(released, landscape.Patience) {
		assert.Fail(t, "something is held", strings.Join(kept, "\n"))
	}
}
