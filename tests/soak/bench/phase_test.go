// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// phase is what one phase of a run took. Times are seconds where the name does not say milliseconds; requests, CPU and traffic count
// until our programs were quiet again.
type phase struct {
	Name  string  `json:"name"`
	Units int     `json:"units"`
	Wall  float64 `json:"wallSeconds"`

	P50 float64 `json:"p50Milliseconds"`
	P90 float64 `json:"p90Milliseconds"`
	P99 float64 `json:"p99Milliseconds"`
	Max float64 `json:"maxMilliseconds"`

	Users    map[string]*tally `json:"users"`
	Requests []requestCount    `json:"requests"`

	Processes []usage `json:"processes"`

	WatchEvents   float64 `json:"watchEvents"`
	WatchMiB      float64 `json:"watchMiB"`
	StorageMiB    float64 `json:"storageMiB"`
	AllWrites     int     `json:"allWrites"` // of our programs, on the target and of the harness: what the servers had to take
	CPU           float64 `json:"cpuSeconds"`
	TimesFloor    float64 `json:"timesFloor"`
	TimesFloorCPU float64 `json:"timesFloorCPU"`
	WritesPerUnit float64 `json:"writesPerUnit"` // of our programs, on the central API server
	ReadsPerUnit  float64 `json:"readsPerUnit"`
	TargetWrites  float64 `json:"targetWritesPerUnit"`
	TargetReads   float64 `json:"targetReadsPerUnit"`
	Conflicts     int     `json:"conflicts"`
}

// usage is what a process used in a phase.
type usage struct {
	Name       string             `json:"name"`
	CPU        float64            `json:"cpuSeconds"`
	PeakMiB    float64            `json:"peakMiB"`
	AllocMiB   float64            `json:"allocatedMiB,omitempty"`
	Mallocs    float64            `json:"allocations,omitempty"`
	Reconciles map[string]float64 `json:"reconciles,omitempty"` // by controller
	Queues     []queue            `json:"queues,omitempty"`
}

// snapshot is the state of all counters at one moment.
type snapshot struct {
	at        time.Time
	cpu       map[string]float64
	programs  map[string]samples
	apiServer samples
}

// processes are all processes of a run by name, in the order of reports.
func (r *run) processes() []namedProcess {
	list := []namedProcess{}
	for _, program := range r.programs {
		list = append(list, namedProcess{program.Name, program.Process})
	}
	list = append(list,
		namedProcess{"kube-apiserver", r.Process(binaries.APIServer)},
		namedProcess{"etcd", r.Etcd()},
		namedProcess{"kube-controller-manager", r.Process(binaries.ControllerManager)},
	)
	return list
}

type namedProcess struct {
	name string
	*programs.Process
}

func (r *run) snapshot(ctx context.Context) (*snapshot, error) {
	s := &snapshot{cpu: map[string]float64{"harness": programs.CPUSeconds(r.pid)}, programs: map[string]samples{}}
	for _, p := range r.processes() {
		s.cpu[p.name] = programs.FamilySeconds(p.PID())
	}
	var err error
	for _, program := range r.programs {
		if s.programs[program.Name], err = scrape(ctx, program.Get); err != nil {
			return nil, fmt.Errorf("%s: %w", program.Name, err)
		}
	}
	if s.apiServer, err = scrape(ctx, r.getFromAPIServer); err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	s.at = time.Now()
	return s, nil
}

// usages returns what each process used between two snapshots, in between which the work queues had these depths.
func (r *run) usages(before, after *snapshot, depths map[string]map[string]float64) []usage {
	var list []usage
	for _, p := range r.processes() {
		one := usage{Name: p.name, CPU: after.cpu[p.name] - before.cpu[p.name], PeakMiB: float64(p.PeakMemory()) / mebibyte}
		if from, to := before.programs[p.name], after.programs[p.name]; to != nil {
			one.AllocMiB = (to.sum("go_memstats_alloc_bytes_total", "", "") - from.sum("go_memstats_alloc_bytes_total", "", "")) / mebibyte
			one.Mallocs = to.sum("go_memstats_mallocs_total", "", "") - from.sum("go_memstats_mallocs_total", "", "")
			one.Reconciles = minus(to.by("controller_runtime_reconcile_total", "controller"), from.by("controller_runtime_reconcile_total", "controller"))
			one.Queues = queues(from, to, depths[p.name])
		}
		list = append(list, one)
	}
	return append(list, usage{Name: "harness", CPU: after.cpu["harness"] - before.cpu["harness"]})
}

const mebibyte = 1 << 20

// setLatencies fills the percentiles from the durations of all units.
func (p *phase) setLatencies(durations []time.Duration) {
	slices.Sort(durations)
	at := func(share float64) float64 {
		return float64(durations[int(share*float64(len(durations)-1))].Microseconds()) / 1000
	}
	p.P50, p.P90, p.P99, p.Max = at(.5), at(.9), at(.99), at(1)
}

// compare sets how many times longer the phase took, and how much more CPU time all processes used, than the floor for as many writes.
// The second number hardly depends on what else the machine does.
func (p *phase) compare(floor floorResult) {
	writes := float64(p.AllWrites)
	p.TimesFloor = p.Wall / (writes / floor.Rate)
	p.TimesFloorCPU = p.CPU / (writes * floor.CPUPerWrite / 1000)
}

// setRequests counts the requests of the phase.
func (p *phase) setRequests(requests []platform.Request) {
	p.Users, p.Requests = tallies(requests), counts(requests)
	units := float64(p.Units)
	for _, user := range ours {
		if t := p.Users[user]; t != nil {
			p.WritesPerUnit += float64(t.Writes) / units
			p.ReadsPerUnit += float64(t.Reads) / units
			p.Conflicts += t.Conflicts
		}
	}
	for _, user := range append([]string{writerUser, targetUser}, ours...) {
		if t := p.Users[user]; t != nil {
			p.AllWrites += t.Writes
		}
	}
	if t := p.Users[targetUser]; t != nil {
		p.TargetWrites, p.TargetReads = float64(t.Writes)/units, float64(t.Reads)/units
	}
}

// setTraffic takes the API server's own numbers between two snapshots: what it sent to watchers of our kinds and what it stores.
func (p *phase) setTraffic(before, after *snapshot) {
	delta := func(name string) float64 {
		return after.apiServer.sum(name, "group", landscaperGroup) - before.apiServer.sum(name, "group", landscaperGroup)
	}
	p.WatchEvents = delta("apiserver_watch_events_sizes_count")
	p.WatchMiB = delta("apiserver_watch_events_sizes_sum") / mebibyte
	p.StorageMiB = after.apiServer.sum("apiserver_storage_size_bytes", "", "") / mebibyte
}

const landscaperGroup = "landscaper.gardener.cloud"
