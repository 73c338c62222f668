// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Metrics of all pools of this process, by the name of the Program.
var (
	processesGauge = gauge("landscaper_child_processes", "Child processes that there are.")
	runningGauge   = gauge("landscaper_child_jobs_running", "Jobs that have a child process.")
	waitingGauge   = gauge("landscaper_child_jobs_waiting", "Jobs that wait for a child process.")
	killedCounter  = registered(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "landscaper_child_processes_killed_total", Help: "Child processes that ended before their job, by cause.",
	}, []string{"program", "cause"}))
	durationHistogram = registered(prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "landscaper_child_job_duration_seconds", Help: "Duration of jobs in child processes, without the time that they waited for one.",
		Buckets: []float64{.001, .005, .025, .1, .5, 1, 2.5, 5, 10, 30, 60, 300},
	}, []string{"program"}))
)

func gauge(name, help string) *prometheus.GaugeVec {
	return registered(prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"program"}))
}

func registered[C prometheus.Collector](collector C) C {
	ctrlmetrics.Registry.MustRegister(collector)
	return collector
}

// causeCancelled is the cause of the end of children whose job was not wanted any more; all others are Reasons.
const causeCancelled = "cancelled"

// measured is what a pool has added to the gauges.
type measured struct{ processes, running, waiting int }

// show brings the gauges up to date, which several pools of one Program share.
func (m *measured) show(program string, now measured) {
	processesGauge.WithLabelValues(program).Add(float64(now.processes - m.processes))
	runningGauge.WithLabelValues(program).Add(float64(now.running - m.running))
	waitingGauge.WithLabelValues(program).Add(float64(now.waiting - m.waiting))
	*m = now
}

// countJob counts how a job ended that had a child.
func countJob(program string, took time.Duration, err error) {
	durationHistogram.WithLabelValues(program).Observe(took.Seconds())
	cause := causeCancelled
	if ended := (*Ended)(nil); errors.As(err, &ended) {
		cause = strings.ToLower(string(ended.Reason))
	}
	if err != nil {
		killedCounter.WithLabelValues(program, cause).Inc()
	}
}
