// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// spareGoroutines is how many goroutines more than before a process may keep: those of connections and watches of the neighbours stay for a while.
const spareGoroutines = 60

// holding is what a process has beside files and memory.
type holding struct {
	// children are the child processes that have not been waited for, also those that have ended.
	children int
	// waiting are the jobs that wait for child processes.
	waiting    int
	goroutines int
}

// requireIdle returns a function that checks that processes keep no more child processes than those that are ready for the next job, no jobs for them and no
// goroutines beside those that they have now.
func requireIdle(t testing.TB) func() {
	t.Helper()
	before := holdings(t)
	warm := confined.DefaultLimits().Children
	return func() {
		t.Helper()
		var kept []string
		released := func() bool {
			kept = nil
			for name, now := range holdings(t) {
				if now.children > warm || now.waiting > 0 || now.goroutines > before[name].goroutines+spareGoroutines {
					kept = append(kept, fmt.Sprintf("%s: %+v, before %+v", name, now, before[name]))
				}
			}
			return len(kept) == 0
		}
		begun := time.Now()
		if !assertEventually(released, landscape.Patience) {
			assert.Fail(t, "child processes, their jobs or goroutines are held", strings.Join(kept, "\n"))
		}
		t.Logf("after %s processes hold %+v, before %+v", time.Since(begun).Round(time.Millisecond), holdings(t), before)
	}
}

func holdings(t testing.TB) map[string]holding {
	t.Helper()
	l := landscape.Shared(t)
	children, all := childrenOf(t), map[string]holding{}
	for name, process := range l.Processes {
		metrics := measured(t, l.Metrics[name])
		all[name] = holding{
			children: children[process.PID()], goroutines: gauge(metrics, "go_goroutines"),
			waiting: gauge(metrics, "landscaper_child_jobs_waiting"),
		}
	}
	return all
}

// childrenOf counts the child processes of every process of the system.
func childrenOf(t testing.TB) map[int]int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("this system does not show the children of a process")
	}
	count := map[int]int{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// What follows the name in brackets, which may hold anything: the state, and the parent.
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		require.Greater(t, len(fields), 1, "%s: %s", file, raw)
		parent, err := strconv.Atoi(fields[1])
		require.NoError(t, err)
		count[parent]++
	}
	return count
}

func measured(t testing.TB, address string) map[string]*dto.MetricFamily {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(response.Body)
	require.NoError(t, err)
	return found
}

// gauge is the sum of the values of a metric, 0 where a process has none of that name.
func gauge(all map[string]*dto.MetricFamily, name string) (sum int) {
	for _, metric := range all[name].GetMetric() {
		sum += int(metric.GetGauge().GetValue())
	}
	return sum
}
