// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// BenchmarkRivals compares our deployers with the controllers of Flux that do the same: one after the other they install, leave as it is,
// upgrade and uninstall the same units of ten objects on one API server. It has four legs: each side with its own default concurrency,
// then each with that of the other.
func BenchmarkRivals(b *testing.B) {
	for _, variant := range []struct {
		name       string
		component  binaries.Component
		contenders func(*rivalry) (ours, theirs contender)
		publish    func(*rivalry, context.Context, string) error
	}{
		{"helm", binaries.HelmController, (*rivalry).helmContenders, (*rivalry).publishChart},
		{"manifest", binaries.KustomizeController, func(r *rivalry) (contender, contender) { return r.manifestContenders("") }, (*rivalry).publishManifests},
		{"apply", binaries.KustomizeController, func(r *rivalry) (contender, contender) { return r.manifestContenders("apply") }, (*rivalry).publishManifests},
	} {
		b.Run(fmt.Sprintf("%s/%d", variant.name, options.rivalUnits), func(b *testing.B) {
			for range b.N {
				r := newRivalry(b, fmt.Sprintf("rivals/%s/%d", variant.name, options.rivalUnits), variant.component)
				ctx, cancel := context.WithTimeout(b.Context(), phaseTimeout)
				r.must("publish what is deployed", r.publish(ctx, options.rivalUnits, func(ctx context.Context, unit string) error {
					return variant.publish(r, ctx, unit)
				}))
				cancel()
				b.ResetTimer()
				r.compare(variant.contenders(r))
			}
		})
	}
}

// rivalry is one platform on which two sides are compared.
type rivalry struct {
	*run
	flux *binaries.Binaries
	// owner is the Execution that our items belong to, as all that an Execution makes do.
	owner *v1alpha1.Execution
}

func newRivalry(b *testing.B, name string, component binaries.Component) *rivalry {
	r := &rivalry{run: &run{b: b, name: name, pid: os.Getpid(), units: rig.Units{Namespace: rivalNamespace, Deployed: rivalDeployed}}}
	ctx, cancel := context.WithTimeout(b.Context(), startTimeout)
	defer cancel()
	r.must("build our programs", r.build(ctx))
	var err error
	r.flux, err = binaries.Tools(ctx, os.Stderr, component)
	r.must("build "+string(component), err)
	built, err := buildinfo.ReadFile(r.flux.Path(component))
	r.must("read the version of "+string(component), err)
	foundVersions[string(component)] = built.Main.Version
	var crds []string
	if component == binaries.HelmController {
		crds = append(crds, r.flux.CRDDir(component)) // the platform installs those of its own controllers
	}
	r.Platform = platform.New(b, platform.Options{
		ControllerManager: true, Audit: true, LandscaperCRDs: true, Flux: true, Registry: true, CRDDirs: crds,
		AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	})
	b.Cleanup(r.stopPrograms)
	r.must("start", r.prepare(ctx))
	return r
}

// prepare makes what both sides need. The platform's own kustomize-controller is stopped, because each leg starts what it measures.
func (r *rivalry) prepare(ctx context.Context) error {
	if err := r.Process(binaries.KustomizeController).Stop(stopGrace); err != nil {
		return err
	}
	target, err := r.NewUser(targetUser, rig.AllRights)
	if err != nil {
		return err
	}
	if err := r.units.Prepare(ctx, r.Cluster, target); err != nil {
		return err
	}
	if r.http, err = rest.HTTPClientFor(r.RestConfig); err != nil {
		return err
	}
	if r.writer, err = rig.NewClient(r.Cluster, writerUser); err != nil {
		return err
	}
	r.owner = &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: rivalNamespace, Namespace: rivalNamespace}}
	if err := r.writer.Create(ctx, r.owner); err != nil {
		return err
	}
	return errors.Join(r.measureDisk(), r.readVersions(ctx))
}

// compare takes both sides through their legs and records the result.
func (r *rivalry) compare(ours, theirs contender) {
	defaults := [2]int{ourConcurrency, theirConcurrency}
	result := &rivalResult{Name: r.name, Units: options.rivalUnits, Ours: ours.program, Theirs: theirs.program}
	legs := []struct {
		side        contender
		concurrency int
		standard    bool
	}{{ours, defaults[0], true}, {theirs, defaults[1], true}, {ours, defaults[1], false}, {theirs, defaults[0], false}}
	done := make([]*rivalLeg, len(legs))
	for i, leg := range legs {
		done[i] = r.leg(leg.side, leg.concurrency, leg.standard)
		result.Order = append(result.Order, fmt.Sprintf("%s with %d", leg.side.program, leg.concurrency))
	}
	result.Pairs = []*rivalPair{{"own defaults", done[0], done[1]}, {"same", done[2], done[1]}, {"same", done[0], done[3]}}
	results.Rivals = append(results.Rivals, result)
	for _, p := range result.Pairs[0].rows() {
		r.b.ReportMetric(p.wall.ratio(), p.phase+"-wall-ratio")
		r.b.ReportMetric(p.cpu.ratio(), p.phase+"-cpu-ratio")
		r.b.ReportMetric(p.requests.ratio(), p.phase+"-requests-ratio")
	}
	r.b.ReportMetric(result.Pairs[0].resident().ratio(), "resident-ratio")
}

// leg lets one side do everything once, from the start of its program to its end.
func (r *rivalry) leg(side contender, concurrency int, standard bool) *rivalLeg {
	all := r.name
	defer func() { r.name = all }()
	r.name = fmt.Sprintf("%s/%s-%d", all, side.program, concurrency)
	ctx, cancel := context.WithTimeout(r.b.Context(), phaseTimeout)
	defer cancel()
	flag := strconv.Itoa(concurrency)
	if standard {
		flag = ""
	}
	program, err := side.start(flag)
	r.must("start "+side.program, err)
	r.programs = []*rig.Program{program}
	r.must("start "+side.program, program.AwaitReady(ctx))
	r.must("warm up", r.warmSideUp(ctx, side))
	leg := &rivalLeg{Program: side.program, Concurrency: concurrency}
	for _, step := range rivalSteps {
		leg.Phases = append(leg.Phases, r.step(side, step))
	}
	r.stopPrograms()
	return leg
}

// rivalStep is something that both sides are told to do to every unit.
type rivalStep struct {
	name    string
	act     func(r *rivalry, ctx context.Context, side contender, unit, token string) error
	version string // of the objects after it; empty where nothing is left of them
}

var rivalSteps = []rivalStep{
	{"install", (*rivalry).install, "v1"},
	{"no-op", (*rivalry).again, "v1"},
	{"upgrade", (*rivalry).upgrade, "v2"},
	{"uninstall", (*rivalry).uninstall, ""},
}

func (r *rivalry) install(ctx context.Context, side contender, unit, token string) error {
	obj := r.object(side.kind, unit)
	obj.Object["spec"] = side.spec(unit, "v1")
	if side.jobs {
		obj.SetFinalizers([]string{v1alpha1.Finalizer})
		obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(r.owner, v1alpha1.GroupVersion.WithKind("Execution"))})
	}
	if err := r.writer.Create(ctx, obj); err != nil {
		return err
	}
	return r.handOver(ctx, side, unit, token)
}

func (r *rivalry) upgrade(ctx context.Context, side contender, unit, token string) error {
	patch := mergePatch(map[string]any{"spec": side.spec(unit, "v2")})
	if err := r.writer.Patch(ctx, r.object(side.kind, unit), patch); err != nil {
		return err
	}
	return r.handOver(ctx, side, unit, token)
}

func (r *rivalry) uninstall(ctx context.Context, side contender, unit, token string) error {
	if err := r.writer.Delete(ctx, r.object(side.kind, unit)); err != nil {
		return err
	}
	return r.handOver(ctx, side, unit, token)
}

func (r *rivalry) again(ctx context.Context, side contender, unit, token string) error {
	return side.again(ctx, r.object(side.kind, unit), token)
}

// handOver gives a unit a job, on the side that works by jobs.
func (r *rivalry) handOver(ctx context.Context, side contender, unit, token string) error {
	if !side.jobs {
		return nil
	}
	return r.again(ctx, side, unit, token)
}

// token is what a step asks a side to handle, where it asks for something.
func (s rivalStep) token(side contender) string {
	if side.jobs || s.name == "no-op" {
		return "rival-" + s.name
	}
	return ""
}

// warmUpTimeout is how long one step of one unit may take.
const warmUpTimeout = 90 * time.Second

// warmSideUp lets one unit go through all steps, so that every client, cache and connection is there before anything is measured.
func (r *rivalry) warmSideUp(ctx context.Context, side contender) error {
	for _, step := range rivalSteps {
		ctx, cancel := context.WithTimeout(ctx, warmUpTimeout)
		defer cancel()
		reached, err := r.arrivals(ctx, side, step, 1)
		if err != nil {
			return err
		}
		if err := step.act(r, ctx, side, rivalUnit(warmUpUnit), step.token(side)); err != nil {
			return err
		}
		if _, err := reached(); err != nil {
			return err
		}
	}
	return r.awaitQuiet(ctx)
}

// step measures one step of one side.
func (r *rivalry) step(side contender, step rivalStep) *rivalPhase {
	r.b.Helper()
	units := options.rivalUnits
	ctx, cancel := context.WithTimeout(r.b.Context(), phaseTimeout+time.Duration(units)*unitTimeout)
	defer cancel()
	program := r.programs[0]
	resetPeak(program.PID())
	before, err := r.snapshot(ctx)
	r.must(step.name, err)
	profiles, peak := r.profile(ctx, step.name), watchAnonymous(program.PID())
	reached, err := r.arrivals(ctx, side, step, units)
	r.must(step.name, err)
	begin := time.Now()
	r.must(step.name, rig.Parallel(ctx, options.workers, units, func(ctx context.Context, i int) error {
		return step.act(r, ctx, side, rivalUnit(i), step.token(side))
	}))
	last, err := reached()
	r.must(step.name, err)
	r.must("save profiles of "+step.name, profiles())
	r.must(step.name, r.awaitQuiet(ctx))
	anonymous := peak()
	after, err := r.snapshot(ctx)
	r.must(step.name, err)
	requests, err := r.Requests(ctx, begin)
	r.must("count requests of "+step.name, err)
	p := &rivalPhase{Name: step.name, Wall: last.Sub(begin).Seconds(), AnonymousMiB: anonymous, usage: r.usages(before, after, nil)[0],
		ServerCPU: after.cpu["kube-apiserver"] - before.cpu["kube-apiserver"]}
	p.setRequests(within(requests, after.at), side.users, units)
	if step.version == "" {
		r.must("find nothing after "+step.name, r.requireDeployed(ctx, 0, ""))
	} else {
		r.must("find everything after "+step.name, r.requireDeployed(ctx, units, step.version))
	}
	sayf("%s: %s of %d took %.2f s, %.2f s of CPU, %.1f requests per unit, %.0f MiB, load %s", r.name, step.name, units, p.Wall, p.CPU,
		p.RequestsPerUnit, p.PeakMiB, load())
	return p
}

// arrivals begins to wait until a side has taken as many units through a step. The returned function returns when the last was there.
// Events are read from the start, and a watch that the API server ends, as it does to a client that reads too slowly, begins anew.
func (r *rivalry) arrivals(ctx context.Context, side contender, step rivalStep, units int) (func() (time.Time, error), error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(side.kind)
	if err := r.writer.List(ctx, list, client.InNamespace(rivalNamespace)); err != nil {
		return nil, err
	}
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), rivalSource{r.writer, list})
	if err != nil {
		return nil, err
	}
	var last time.Time
	done := make(chan error, 1)
	go func() {
		defer events.Stop()
		var err error
		last, err = step.lastArrival(ctx, side, events.ResultChan(), units)
		done <- err
	}()
	return func() (time.Time, error) {
		err := <-done
		return last, err
	}, nil
}

// rivalSource begins watches for a RetryWatcher.
type rivalSource struct {
	client client.WithWatch
	list   *unstructured.UnstructuredList
}

// WatchWithContext watches all units of one side.
func (s rivalSource) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.client.Watch(ctx, s.list, &client.ListOptions{Namespace: rivalNamespace, Raw: &options})
}

// lastArrival reads events until they have told of as many units that a step has reached, and returns when the last was there.
func (s rivalStep) lastArrival(ctx context.Context, side contender, events <-chan watch.Event, units int) (time.Time, error) {
	there := map[string]bool{}
	var last *unstructured.Unstructured
	for {
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%d of %d units got there: %w; last was seen %v", len(there), units, ctx.Err(), last)
		case event, open := <-events:
			obj, ok := event.Object.(*unstructured.Unstructured)
			if !open || !ok {
				return time.Time{}, fmt.Errorf("%d of %d units got there before the watch ended: %v", len(there), units, event.Object)
			}
			met, err := s.isReached(side, event.Type, obj)
			if err != nil {
				return time.Time{}, err
			}
			if last = obj; met {
				there[obj.GetName()] = true
			}
			if len(there) == units {
				return time.Now(), nil
			}
		}
	}
}

// isReached reports whether a change of an object says that its unit is where the step leads to.
func (s rivalStep) isReached(side contender, change watch.EventType, obj *unstructured.Unstructured) (bool, error) {
	if s.version == "" {
		return change == watch.Deleted, nil
	}
	return side.handled(obj, s.token(side))
}
