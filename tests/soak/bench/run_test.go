// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	startTimeout = 30 * time.Minute // includes a cold build of all binaries
	phaseTimeout = 10 * time.Minute
	unitTimeout  = 300 * time.Millisecond // more for each unit of a phase
	stopGrace    = 10 * time.Second
	quietFor     = time.Second // our programs are at rest when they have sent nothing for so long
	quietEvery   = 100 * time.Millisecond
)

// run is one platform with our programs and one set of units.
type run struct {
	*platform.Platform
	b        *testing.B
	pid      int
	name     string
	binary   string
	units    rig.Units
	programs []*rig.Program
	writer   client.WithWatch
	observer *rig.Observer
	http     *http.Client
	// throughTarget changes the access to the target; nil leaves it.
	throughTarget func(*rest.Config) *rest.Config
}

// newRun starts a platform and our programs and warms them up with one unit. The changes are made when the API server runs.
func newRun(b *testing.B, name string, units rig.Units, changes ...func(*run)) *run {
	units.Namespace, units.Deployed = "bench", "bench-deployed"
	r := &run{b: b, name: name, pid: os.Getpid(), units: units}
	ctx, cancel := context.WithTimeout(b.Context(), startTimeout)
	defer cancel()
	r.must("build our programs", r.build(ctx))
	r.Platform = platform.New(b, platform.Options{
		ControllerManager: true, Audit: true, LandscaperCRDs: true,
		AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	})
	for _, change := range changes {
		change(r)
	}
	r.must("begin", r.measureDisk())
	b.Cleanup(r.stopPrograms)
	r.must("start", r.start(ctx))
	r.must("warm up", r.warmUp(ctx))
	return r
}

func (r *run) build(ctx context.Context) (err error) {
	if r.binary = options.binary; r.binary == "" {
		r.binary, err = binaries.BuildLandscaper(ctx)
	}
	return err
}

func (r *run) must(step string, err error) {
	r.b.Helper()
	if err == nil {
		return
	}
	for _, program := range r.programs {
		r.b.Logf("last lines of %s:\n%s", program.Name, program.LogTail(20))
	}
	r.b.Fatalf("%s: cannot %s: %v", r.name, step, err)
}

func (r *run) start(ctx context.Context) error {
	target, err := r.NewUser(targetUser, rig.AllRights)
	if err != nil {
		return err
	}
	if r.throughTarget != nil {
		target = r.throughTarget(target)
	}
	if err := r.units.Prepare(ctx, r.Cluster, target); err != nil {
		return err
	}
	if r.http, err = rest.HTTPClientFor(r.RestConfig); err != nil {
		return err
	}
	if err = r.readVersions(ctx); err != nil {
		return err
	}
	if r.writer, err = rig.NewClient(r.Cluster, writerUser); err != nil {
		return err
	}
	observing, err := rig.NewClient(r.Cluster, observerUser)
	if err != nil {
		return err
	}
	if r.observer, err = rig.Observe(ctx, observing, r.units.Namespace); err != nil {
		return err
	}
	r.b.Cleanup(r.observer.Stop)
	return r.startPrograms(ctx)
}

func (r *run) startPrograms(ctx context.Context) error {
	r.programs = nil
	for _, name := range ours {
		program, err := rig.Start(r.Cluster, r.binary, name, nil, strings.Fields(options.programArgs)...)
		if err != nil {
			return err
		}
		r.programs = append(r.programs, program)
	}
	for _, program := range r.programs {
		if err := program.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) stopPrograms() {
	for _, program := range r.programs {
		if err := program.Stop(stopGrace); err != nil {
			r.b.Logf("cannot stop %s: %v", program.Name, err)
		}
	}
	r.programs = nil
}

// warmUp lets one unit go through its whole life, so that every client, cache and connection is there before anything is measured.
func (r *run) warmUp(ctx context.Context) error {
	done := r.observer.Expect(1, rig.Succeeded(1))
	units := r.units
	units.Flow = rig.Apart
	if err := units.Create(ctx, r.writer, warmUpUnit, "warm-up"); err != nil {
		return err
	}
	if _, err := done.Wait(ctx); err != nil {
		return err
	}
	gone := r.observer.Expect(1, rig.Gone())
	if err := r.units.Delete(ctx, r.writer, warmUpUnit); err != nil {
		return err
	}
	if _, err := gone.Wait(ctx); err != nil {
		return err
	}
	return r.awaitQuiet(ctx)
}

// warmUpUnit and restartUnit are numbers that no run reaches.
const (
	warmUpUnit  = 99999
	restartUnit = 99998
)

// getFromAPIServer reads a path of the API server as its administrator.
func (r *run) getFromAPIServer(ctx context.Context, path string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.RestConfig.Host+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := r.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("GET %s of the API server: %s", path, response.Status)
	}
	return response.Body, nil
}

// readVersions notes the versions of the API server and of the libraries of our programs for the report.
func (r *run) readVersions(ctx context.Context) error {
	body, err := r.getFromAPIServer(ctx, "/version")
	if err != nil {
		return err
	}
	defer body.Close()
	var info struct{ GitVersion string }
	if err := json.NewDecoder(body).Decode(&info); err != nil {
		return fmt.Errorf("cannot read the version of the API server: %w", err)
	}
	foundVersions["kubernetes"] = info.GitVersion
	built, err := buildinfo.ReadFile(r.binary)
	if err != nil {
		return err
	}
	for _, module := range built.Deps {
		if module.Path == "sigs.k8s.io/controller-runtime" || module.Path == "k8s.io/client-go" {
			foundVersions[module.Path] = module.Version
		}
	}
	return nil
}

// awaitQuiet waits until our programs have sent no request for quietFor.
func (r *run) awaitQuiet(ctx context.Context) error {
	ticker := time.NewTicker(quietEvery)
	defer ticker.Stop()
	last, since := -1.0, time.Now()
	for time.Since(since) < quietFor {
		sent, err := r.sent(ctx)
		if err != nil {
			return err
		}
		if sent != last {
			last, since = sent, time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("our programs do not come to rest: %w", ctx.Err())
		case <-ticker.C:
		}
	}
	return nil
}

// sent returns how many requests our programs have sent since they started, as they count them.
func (r *run) sent(ctx context.Context) (float64, error) {
	var total float64
	for _, program := range r.programs {
		metrics, err := scrape(ctx, program.Get)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", program.Name, err)
		}
		total += metrics.sum("rest_client_requests_total", "", "")
	}
	return total, nil
}

// measure runs one phase: act does something to every unit, which then has to meet the condition.
func (r *run) measure(name string, units int, condition rig.Condition, act func(ctx context.Context, i int) error) *phase {
	r.b.Helper()
	ctx, cancel := context.WithTimeout(r.b.Context(), phaseTimeout+time.Duration(units)*unitTimeout)
	defer cancel()
	for _, p := range r.processes() {
		resetPeak(p.PID())
	}
	before, err := r.snapshot(ctx)
	r.must(name, err)
	profiles, highest := r.profile(ctx, name), r.watchDepths(ctx)
	started := make([]time.Time, units)
	goal := r.observer.Expect(units, condition)
	begin := time.Now()
	err = rig.Parallel(ctx, options.workers, units, func(ctx context.Context, i int) error {
		started[i] = time.Now()
		return act(ctx, i)
	})
	r.must(name, err)
	reached, err := goal.Wait(ctx)
	r.must(name, err)
	depths, err := highest()
	r.must("watch the work queues of "+name, err)
	r.must("save profiles of "+name, profiles())
	r.must(name, r.awaitQuiet(ctx))
	after, err := r.snapshot(ctx)
	r.must(name, err)
	p := &phase{Name: name, Units: units, Processes: r.usages(before, after, depths)}
	for _, one := range p.Processes {
		p.CPU += one.CPU
	}
	p.setTimes(r.units, begin, started, reached)
	p.setTraffic(before, after)
	requests, err := r.Requests(ctx, begin)
	r.must("count requests of "+name, err)
	p.setRequests(within(requests, after.at))
	sayf("%s: %s of %d took %.2f s and %.1f s of CPU, %.1f writes and %.1f reads per unit, load %s", r.name, name, units, p.Wall, p.CPU, p.WritesPerUnit, p.ReadsPerUnit, load())
	return p
}

// setTimes fills wall time and percentiles from when each unit was begun and when it was there.
func (p *phase) setTimes(units rig.Units, begin time.Time, started []time.Time, reached map[string]time.Time) {
	last := begin
	var durations []time.Duration
	for i := range started {
		at := reached[units.Name(i)]
		durations = append(durations, at.Sub(started[i]))
		if at.After(last) {
			last = at
		}
	}
	p.Wall = last.Sub(begin).Seconds()
	p.setLatencies(durations)
}
