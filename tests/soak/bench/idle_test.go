// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// idleUnits is how many units BenchmarkIdle creates one after the other.
const idleUnits = 50

// idleResult is how long one unit takes when nothing else happens, from when the API server has received its Installation.
type idleResult struct {
	Name       string  `json:"name"`
	FirstWrite latency `json:"firstWrite"`
	Deployed   latency `json:"deployed"` // the API server has received the deployed object
	Succeeded  latency `json:"succeeded"`
}

// latency is in milliseconds.
type latency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func latencyOf(durations []time.Duration) latency {
	p := phase{}
	p.setLatencies(durations)
	return latency{p.P50, p.P90, p.P99, p.Max}
}

// BenchmarkIdle creates units one after the other and measures how soon our programs begin and end.
func BenchmarkIdle(b *testing.B) {
	for range b.N {
		r := newRun(b, "idle", rig.Units{DataImport: true})
		b.ResetTimer()
		begin := time.Now()
		var succeeded []time.Duration
		for i := range idleUnits {
			goal := r.observer.Expect(1, rig.Succeeded(1))
			created := time.Now()
			r.must("create a unit", r.units.Create(b.Context(), r.writer, i, "v1"))
			reached, err := goal.Wait(b.Context())
			r.must("let a unit succeed", err)
			succeeded = append(succeeded, reached[r.units.Name(i)].Sub(created))
		}
		b.StopTimer()
		r.must("idle", r.awaitQuiet(b.Context()))
		requests, err := r.Requests(b.Context(), begin)
		r.must("count requests", err)
		first, deployed := r.reactions(requests)
		result := &idleResult{
			Name: "idle", FirstWrite: latencyOf(first), Deployed: latencyOf(deployed), Succeeded: latencyOf(succeeded),
		}
		results.Idle = append(results.Idle, result)
		b.ReportMetric(result.FirstWrite.P50, "first-write-p50-ms")
		b.ReportMetric(result.FirstWrite.P99, "first-write-p99-ms")
		b.ReportMetric(result.Deployed.P50, "deployed-p50-ms")
		b.ReportMetric(result.Succeeded.P50, "succeeded-p50-ms")
	}
}

// reactions returns for each unit how long after its Installation the API server received our first write to it, and the object that
// it deploys.
func (r *run) reactions(requests []platform.Request) (first, deployed []time.Duration) {
	for i := range idleUnits {
		name := r.units.Name(i)
		received := func(match func(platform.Request) bool) time.Time {
			var earliest time.Time
			for _, request := range requests {
				if request.Name == name && request.Writes() && match(request) && (earliest.IsZero() || request.Time.Before(earliest)) {
					earliest = request.Time
				}
			}
			if earliest.IsZero() {
				r.b.Fatalf("the audit log lacks a request about %s", name)
			}
			return earliest
		}
		created := received(func(request platform.Request) bool { return request.User == writerUser })
		first = append(first, received(func(request platform.Request) bool { return request.User == rig.Controller }).Sub(created))
		deployed = append(deployed, received(func(request platform.Request) bool { return request.User == targetUser }).Sub(created))
	}
	return first, deployed
}
