// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// depthEvery is how often the depth of work queues is read, unless reading takes more than a part of depthPart of that: the metrics of
// a program grow with its objects. Shorter peaks are missed; reading more often would burden the programs.
const (
	depthEvery = 2 * time.Second
	depthPart  = 50
)

// queue is how one controller of our programs kept up with its work in a phase.
type queue struct {
	Controller string  `json:"controller"`
	Depth      float64 `json:"highestDepthSeen"`
	Waited     spread  `json:"waitedMilliseconds"`
	Worked     spread  `json:"reconciledMilliseconds"`
}

// spread sums up a histogram, in milliseconds. The mean is exact; percentiles are interpolated within its buckets, which grow tenfold
// from one to the next where waiting is concerned.
type spread struct {
	Count float64 `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
}

// queues returns the controllers that worked between two scrapes of a program, by name.
func queues(before, after samples, depths map[string]float64) []queue {
	var list []queue
	for _, name := range slices.Sorted(maps.Keys(after.by("workqueue_adds_total", "name"))) {
		one := queue{
			Controller: name, Depth: depths[name],
			Waited: spreadOf(before, after, "workqueue_queue_duration_seconds", "name", name),
			Worked: spreadOf(before, after, "controller_runtime_reconcile_time_seconds", "controller", name),
		}
		if one.Waited.Count > 0 {
			list = append(list, one)
		}
	}
	return list
}

// spreadOf sums up what a histogram of seconds saw between two scrapes under one value of a label.
func spreadOf(before, after samples, family, label, value string) spread {
	delta := func(suffix string) float64 {
		return after.by(family+suffix, label)[value] - before.by(family+suffix, label)[value]
	}
	count := delta("_count")
	if count == 0 {
		return spread{}
	}
	buckets := after.buckets(family, label, value)
	for bound, seen := range before.buckets(family, label, value) {
		buckets[bound] -= seen
	}
	return spread{count, delta("_sum") / count * 1000, quantile(buckets, count, .5) * 1000, quantile(buckets, count, .99) * 1000}
}

// buckets returns how often a histogram has seen at most each upper bound under one value of a label.
func (s samples) buckets(family, label, value string) map[float64]float64 {
	counts := map[float64]float64{}
	for _, one := range s[family+"_bucket"] {
		bound, err := strconv.ParseFloat(one.labels["le"], 64)
		if err == nil && one.labels[label] == value {
			counts[bound] += one.value
		}
	}
	return counts
}

// quantile estimates which value a share above 0 of the count did not exceed: within a bucket values are taken as evenly spread, and above the
// last finite bound as equal to it.
func quantile(buckets map[float64]float64, count, share float64) float64 {
	rank, lower, below := share*count, 0.0, 0.0
	for _, bound := range slices.Sorted(maps.Keys(buckets)) {
		if math.IsInf(bound, 1) {
			break
		}
		if upTo := buckets[bound]; upTo >= rank {
			return lower + (bound-lower)*(rank-below)/(upTo-below)
		}
		lower, below = bound, buckets[bound]
	}
	return lower
}

// watchDepths reads the depths of all work queues of our programs until the returned function is called, which returns the highest
// ones by program and controller.
func (r *run) watchDepths(ctx context.Context) func() (map[string]map[string]float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	group := &errgroup.Group{}
	highest := map[string]map[string]float64{}
	for _, program := range r.programs {
		depths := map[string]float64{}
		highest[program.Name] = depths
		group.Go(func() error { return watchDepth(ctx, program, depths) })
	}
	return func() (map[string]map[string]float64, error) {
		cancel()
		return highest, group.Wait()
	}
}

// watchDepth keeps the highest depths of one program up to date until the context ends.
func watchDepth(ctx context.Context, program *rig.Program, highest map[string]float64) error {
	wait := depthEvery
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		begin := time.Now()
		metrics, err := scrape(ctx, program.Get)
		wait = max(depthEvery, depthPart*time.Since(begin))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", program.Name, err)
		}
		for name, depth := range metrics.by("workqueue_depth", "name") {
			highest[name] = max(highest[name], depth)
		}
	}
}

// writeQueues shows how the controllers of our programs kept up.
func (one *phase) writeQueues(p page) {
	fmt.Fprintf(p, "   %s: work queues, milliseconds; percentiles are estimates from buckets\n", one.Name)
	p.table(func(row func(...any)) {
		row("process", "controller", "depth seen", "items", "waited mean", "p50", "p99", "reconciled mean", "p50", "p99")
		for _, process := range one.Processes {
			for _, q := range process.Queues {
				row(process.Name, q.Controller, q.Depth, q.Waited.Count, q.Waited.Mean, q.Waited.P50, q.Waited.P99,
					q.Worked.Mean, q.Worked.P50, q.Worked.P99)
			}
		}
	})
}
