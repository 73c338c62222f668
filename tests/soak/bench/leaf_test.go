// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// BenchmarkLeaf lets numbers of leaf Installations in one namespace be created, changed and deleted, and measures our programs at rest
// and at a restart in between. Units have one target import, and one data import where the name says so.
func BenchmarkLeaf(b *testing.B) {
	for _, variant := range []struct {
		name string
		data bool
	}{{"data", true}, {"target-only", false}} {
		for _, size := range sizes(b) {
			b.Run(fmt.Sprintf("%s/%d", variant.name, size), func(b *testing.B) {
				for range b.N {
					liveOnce(b, fmt.Sprintf("leaf/%s/%d", variant.name, size), variant.data, size)
				}
			})
		}
	}
}

// liveOnce takes one set of units through its life and records the result. The changes are made before our programs start.
func liveOnce(b *testing.B, name string, data bool, size int, changes ...func(*run)) {
	r := newRun(b, name, rig.Units{DataImport: data}, changes...)
	result := &runResult{Name: name, Units: size}
	b.ResetTimer()
	create := r.measure("create", size, rig.Succeeded(1), func(ctx context.Context, i int) error {
		return r.units.Create(ctx, r.writer, i, "v1")
	})
	pattern, err := r.readPattern(b.Context())
	r.must("read a unit for the floor", err)
	rest := r.rest()
	result.Rest = &rest
	update := r.measure("update", size, rig.Succeeded(2), func(ctx context.Context, i int) error {
		return r.units.Update(ctx, r.writer, i, "v2")
	})
	restart := r.restart()
	result.Restart = &restart
	remove := r.measure("delete", size, rig.Gone(), func(ctx context.Context, i int) error {
		return r.units.Delete(ctx, r.writer, i)
	})
	b.StopTimer()
	r.stopPrograms()
	r.must("stop the garbage collector before the floor", r.Process(binaries.ControllerManager).Stop(stopGrace))
	result.Phases = []*phase{create, update, remove}
	result.Floor = r.floor(pattern, size, options.workers)
	for _, p := range result.Phases {
		p.compare(result.Floor)
	}
	results.Runs = append(results.Runs, result)
	report(b, result)
}

// report hands the main numbers to the testing package.
func report(b *testing.B, result *runResult) {
	for _, p := range result.Phases {
		b.ReportMetric(p.Wall, p.Name+"-s")
		b.ReportMetric(p.P99, p.Name+"-p99-ms")
		b.ReportMetric(p.WritesPerUnit, p.Name+"-writes/unit")
		b.ReportMetric(p.ReadsPerUnit, p.Name+"-reads/unit")
		b.ReportMetric(p.CPU, p.Name+"-cpu-s")
		b.ReportMetric(p.TimesFloor, p.Name+"-x-floor")
	}
	b.ReportMetric(result.Floor.Rate, "floor-writes/s")
	b.ReportMetric(result.ourPeakMiB(), "our-peak-MiB")
	if result.Rest != nil {
		b.ReportMetric(result.Rest.WritesPerMinute, "rest-writes/min")
	}
	if result.Restart != nil {
		b.ReportMetric(result.Restart.FirstWrite, "restart-s")
	}
}

// restResult is what our programs do while nothing happens.
type restResult struct {
	Seconds         float64        `json:"seconds"`
	WritesPerMinute float64        `json:"writesPerMinute"`
	ReadsPerMinute  float64        `json:"readsPerMinute"`
	Requests        []requestCount `json:"requests"`
}

// rest watches our programs at rest.
func (r *run) rest() restResult {
	begin := time.Now()
	select {
	case <-time.After(options.rest):
	case <-r.b.Context().Done():
	}
	end := time.Now()
	requests, err := r.Requests(r.b.Context(), begin)
	r.must("count requests at rest", err)
	result := restResult{Seconds: end.Sub(begin).Seconds()}
	for _, group := range counts(within(requests, end)) {
		if isOurs(group.User) {
			result.Requests = append(result.Requests, group)
		}
	}
	users := tallies(within(requests, end))
	perMinute := 60 / result.Seconds
	for _, user := range append([]string{targetUser}, ours...) {
		if t := users[user]; t != nil {
			result.WritesPerMinute += float64(t.Writes) * perMinute
			result.ReadsPerMinute += float64(t.Reads+t.Watches) * perMinute
		}
	}
	sayf("%s: at rest %.1f writes and %.1f reads per minute", r.name, result.WritesPerMinute, result.ReadsPerMinute)
	return result
}

// isOurs reports whether a user is a program of ours, here or on the target.
func isOurs(user string) bool { return user == targetUser || slices.Contains(ours, user) }

// restartResult is how our programs come back while many finished units exist and one new one waits. Times are seconds since the
// programs were started.
type restartResult struct {
	FirstWrite  float64 `json:"firstWriteSeconds"` // to the new Installation
	Succeeded   float64 `json:"succeededSeconds"`
	OtherWrites int     `json:"writesToFinishedUnits"`
	Reads       int     `json:"reads"`
}

// restart stops our programs, creates a unit, starts them again and sees how long the unit takes.
func (r *run) restart() restartResult {
	ctx, cancel := context.WithTimeout(r.b.Context(), phaseTimeout)
	defer cancel()
	r.stopPrograms()
	r.must("create a unit while our programs are stopped", r.units.Create(ctx, r.writer, restartUnit, "v1"))
	goal := r.observer.Expect(1, rig.Succeeded(1))
	begin := time.Now()
	r.must("start our programs again", r.startPrograms(ctx))
	reached, err := goal.Wait(ctx)
	r.must("restart", err)
	r.must("restart", r.awaitQuiet(ctx))
	requests, err := r.Requests(ctx, begin)
	r.must("count requests of the restart", err)
	name := r.units.Name(restartUnit)
	result := restartResult{Succeeded: reached[name].Sub(begin).Seconds()}
	for _, request := range requests {
		switch {
		case !isOurs(request.User):
		case !request.Writes():
			result.Reads++
		case request.Name == name && request.Resource == "installations."+landscaperGroup:
			if result.FirstWrite == 0 {
				result.FirstWrite = request.Time.Sub(begin).Seconds()
			}
		case strings.HasPrefix(request.Name, "unit-") && !strings.HasPrefix(request.Name, name):
			result.OtherWrites++
		}
	}
	gone := r.observer.Expect(1, rig.Gone())
	r.must("delete the unit of the restart", r.units.Delete(ctx, r.writer, restartUnit))
	_, err = gone.Wait(ctx)
	r.must("delete the unit of the restart", err)
	r.must("restart", r.awaitQuiet(ctx))
	sayf("%s: restart: first write after %.2f s, succeeded after %.2f s", r.name, result.FirstWrite, result.Succeeded)
	return result
}
