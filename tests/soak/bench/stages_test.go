// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	// stagedUnits is how many units BenchmarkStages creates one after the other, and then again at once.
	stagedUnits = 50
	// lagTimeout is how long the watches may be behind the end of the last unit.
	lagTimeout = 10 * time.Second
)

// stagesResult is where the time of units goes.
type stagesResult struct {
	Name   string  `json:"name"`
	Units  int     `json:"units"`
	Stages []stage `json:"stages"`
	Whole  latency `json:"whole"` // from the request to the success
}

// stage is how long units took to a milestone from the one before it. Each kind has a watch of its own, so that a stage may seem a
// few milliseconds too short, even below zero, and the next as much too long.
type stage struct {
	Until string  `json:"until"`
	Took  latency `json:"tookMilliseconds"`
}

// BenchmarkStages measures where the time of a unit goes: of units one after the other, and of as many at once. It has a run of its
// own because it watches more than the others.
func BenchmarkStages(b *testing.B) {
	for range b.N {
		r := newRun(b, "stages", rig.Units{DataImport: true})
		w, err := r.watchWays(b.Context())
		r.must("watch the stages", err)
		b.ResetTimer()
		single := r.stages(w, "one after the other", 0, 1)
		burst := r.stages(w, "at once", stagedUnits, stagedUnits)
		b.StopTimer()
		results.Stages = append(results.Stages, single, burst)
		b.ReportMetric(single.Whole.P50, "single-p50-ms")
		b.ReportMetric(burst.Whole.P50, "burst-p50-ms")
	}
}

// stages creates units from number first on, batch by batch, and sees each batch through before it begins with the next.
func (r *run) stages(w *ways, name string, first, batch int) *stagesResult {
	ctx, cancel := context.WithTimeout(r.b.Context(), phaseTimeout)
	defer cancel()
	for begin := first; begin < first+stagedUnits; begin += batch {
		goal := r.observer.Expect(batch, rig.Succeeded(1))
		err := rig.Parallel(ctx, options.workers, batch, func(ctx context.Context, i int) error {
			w.pass(r.units.Name(begin+i), requested)
			return r.units.Create(ctx, r.writer, begin+i, "v1")
		})
		r.must("create units "+name, err)
		_, err = goal.Wait(ctx)
		r.must("let units succeed "+name, err)
	}
	result, err := w.result(ctx, name, r.units, first)
	r.must("follow units "+name, err)
	r.must("create units "+name, r.awaitQuiet(ctx))
	return result
}

// result sums up the ways of the units from number first on.
func (w *ways) result(ctx context.Context, name string, units rig.Units, first int) (*stagesResult, error) {
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	var took [milestones][]time.Duration // from the milestone before; the first one holds the whole
	for i := range stagedUnits {
		seen, err := w.await(ctx, units.Name(first+i))
		if err != nil {
			return nil, err
		}
		took[requested] = append(took[requested], seen[succeeded].Sub(seen[requested]))
		for at := written; at < milestones; at++ {
			took[at] = append(took[at], seen[at].Sub(seen[at-1]))
		}
	}
	result := &stagesResult{Name: name, Units: stagedUnits, Whole: latencyOf(took[requested])}
	for at := written; at < milestones; at++ {
		result.Stages = append(result.Stages, stage{at.String(), latencyOf(took[at])})
	}
	return result, nil
}

func (s *stagesResult) write(p page) {
	fmt.Fprintf(p, "\n-- stages: %d Installations %s, milliseconds from the line before\n", s.Units, s.Name)
	p.table(func(row func(...any)) {
		row("until", "p50", "p90", "p99", "max")
		for _, one := range s.Stages {
			row(one.Until, one.Took.P50, one.Took.P90, one.Took.P99, one.Took.Max)
		}
		row("whole", s.Whole.P50, s.Whole.P90, s.Whole.P99, s.Whole.Max)
	})
}
