// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// deadResult is what our programs do while nobody can reach the target of all units, and when it is back.
type deadResult struct {
	Name  string `json:"name"`
	Units int    `json:"units"`
	// Minutes are the writes per unit in each minute after the one in which the units were created.
	Minutes []float64 `json:"writesPerUnitAndMinute"`
	// Memory is the sum over our programs at the end of each minute, in MiB.
	Memory []float64 `json:"memoryMiB"`
	// Back is how many seconds after the target's return all units had succeeded.
	Back float64 `json:"backSeconds"`
}

// BenchmarkDeadTarget creates units whose target does not answer, watches our programs for -dead-time, opens the target and waits
// until all units have succeeded. Their jobs may take longer than the target is away: one that ends by its timeout needs a person.
func BenchmarkDeadTarget(b *testing.B) {
	for range b.N {
		var door *faults.Door
		units := rig.Units{DataImport: true, Timeout: options.deadTime + 3*phaseTimeout}
		r := newRun(b, "dead target", units, func(r *run) {
			var err error
			door, err = faults.NewDoor(r.RestConfig)
			r.must("open a door", err)
			b.Cleanup(door.Close)
			r.throughTarget = door.Through
		})
		results.Dead = append(results.Dead, r.liveBehind(door, options.deadUnits))
	}
}

func (r *run) liveBehind(door *faults.Door, units int) *deadResult {
	ctx, cancel := context.WithTimeout(r.b.Context(), options.deadTime+2*phaseTimeout)
	defer cancel()
	door.Close()
	result := &deadResult{Name: r.name, Units: units}
	goal := r.observer.Expect(units, rig.Succeeded(1))
	r.must("create the units", rig.Parallel(ctx, options.workers, units, func(ctx context.Context, i int) error {
		return r.units.Create(ctx, r.writer, i, "v1")
	}))
	r.sleep(ctx, time.Minute)
	for range int(options.deadTime / time.Minute) {
		begin := time.Now()
		r.sleep(ctx, time.Minute)
		writes := r.writesSince(ctx, begin)
		for _, group := range counts(writes) {
			sayf("%s: %d times %s %s/%s by %s, answered %d", r.name, group.Count, group.Verb, group.Resource, group.Subresource, group.User, group.Code)
		}
		result.Minutes = append(result.Minutes, float64(len(writes))/float64(units))
		result.Memory = append(result.Memory, r.ourMemory())
		sayf("%s: %.3f writes per unit in this minute, %.0f MiB", r.name, result.Minutes[len(result.Minutes)-1], result.Memory[len(result.Memory)-1])
	}
	back := time.Now()
	r.must("open the target", door.Open())
	_, err := goal.Wait(ctx)
	r.must("let all units succeed", err)
	result.Back = time.Since(back).Seconds()
	sayf("%s: all %d units had succeeded %.1f s after the target was back", r.name, units, result.Back)
	r.b.ReportMetric(slices.Max(result.Minutes), "max-writes/unit/min")
	r.b.ReportMetric(result.Memory[len(result.Memory)-1]-result.Memory[0], "grown-MiB")
	r.b.ReportMetric(result.Back, "back-s")
	return result
}

// sleep lets time pass.
func (r *run) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
		r.must("wait", ctx.Err())
	}
}

// writesSince returns what our programs wrote to the central API server since a moment, events included.
func (r *run) writesSince(ctx context.Context, begin time.Time) []platform.Request {
	requests, err := r.Requests(ctx, begin)
	r.must("count requests", err)
	return slices.DeleteFunc(requests, func(request platform.Request) bool { return !request.Writes() || !slices.Contains(ours, request.User) })
}

// ourMemory is the peak of our programs together since it was last read, in MiB.
func (r *run) ourMemory() float64 {
	var sum float64
	for _, program := range r.programs {
		sum += float64(program.PeakMemory()) / mebibyte
		resetPeak(program.PID())
	}
	return sum
}
