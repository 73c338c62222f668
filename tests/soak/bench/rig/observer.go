// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Observer sees every state of every Installation of a namespace. An API server under load may end its watch; then it goes on where
// it was, so that nothing is missed. Where the CRD has changed it cannot: then it sees what there is and what comes after that, but not what was
// deleted in between.
type Observer struct {
	client    client.WithWatch
	namespace string
	watcher   watch.Interface
	// watching ends with Stop.
	watching context.Context
	stop     context.CancelFunc

	mu    sync.Mutex
	last  map[string]*v1alpha1.Installation
	jobs  map[string][]string
	goal  *Goal
	ended bool
}

// Observe watches the Installations of a namespace until Stop.
func Observe(ctx context.Context, c client.WithWatch, namespace string) (*Observer, error) {
	o := &Observer{client: c, namespace: namespace, last: map[string]*v1alpha1.Installation{}, jobs: map[string][]string{}}
	o.watching, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := o.begin(ctx); err != nil {
		o.stop()
		return nil, err
	}
	go o.follow()
	return o, nil
}

// begin sees what there is and begins to watch it.
func (o *Observer) begin(ctx context.Context) error {
	list := &v1alpha1.InstallationList{}
	if err := o.client.List(ctx, list, client.InNamespace(o.namespace)); err != nil {
		return fmt.Errorf("cannot list the Installations of %s: %w", o.namespace, err)
	}
	for i := range list.Items {
		o.see(watch.Added, &list.Items[i], time.Now())
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(o.watching, list.ResourceVersion, source{o.client, o.namespace})
	if err != nil {
		return fmt.Errorf("cannot watch the Installations of %s: %w", o.namespace, err)
	}
	o.watcher = watcher
	return nil
}

// source begins watches for a RetryWatcher.
type source struct {
	client    client.WithWatch
	namespace string
}

// WatchWithContext watches the Installations of the namespace.
func (s source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.client.Watch(ctx, &v1alpha1.InstallationList{}, &client.ListOptions{Namespace: s.namespace, Raw: &options})
}

// Stop ends the watch.
func (o *Observer) Stop() { o.stop() }

// timeToChange is how long the API server may take until it serves a CRD that was changed.
const timeToChange = time.Minute

func (o *Observer) follow() {
	for err := error(nil); err == nil; {
		for event := range o.watcher.ResultChan() {
			if inst, ok := event.Object.(*v1alpha1.Installation); ok {
				o.see(event.Type, inst, time.Now())
			}
		}
		ctx, cancel := context.WithTimeout(o.watching, timeToChange)
		err = wait.PollUntilContextCancel(ctx, probeInterval, false, func(ctx context.Context) (bool, error) { return o.begin(ctx) == nil, nil })
		cancel()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.goal.fail(errEnded)
}

// errEnded says that nothing can be waited for any more: events were lost, or the observer was stopped.
var errEnded = errors.New("the watch of Installations has ended")

func (o *Observer) see(change watch.EventType, inst *v1alpha1.Installation, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last[inst.Name] = inst
	if id := inst.Status.JobID; id != "" && !slices.Contains(o.jobs[inst.Name], id) {
		o.jobs[inst.Name] = append(o.jobs[inst.Name], id)
	}
	o.goal.see(change, inst, now)
}

// Jobs returns the distinct jobs of an Installation so far, in the order of their first appearance.
func (o *Observer) Jobs(name string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.jobs[name])
}

// Last returns the newest state seen of an Installation, or nil.
func (o *Observer) Last(name string) *v1alpha1.Installation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[name]
}

// Condition says of a change of an Installation whether it is what is waited for. An error ends the wait.
type Condition func(change watch.EventType, inst *v1alpha1.Installation) (bool, error)

// Succeeded waits for the end of a job for a spec of the generation or a newer one. It ends with an error when such a job fails.
func Succeeded(generation int64) Condition {
	return func(_ watch.EventType, inst *v1alpha1.Installation) (bool, error) {
		status := &inst.Status
		ended := status.JobID != "" && status.JobID == status.JobIDFinished && status.ObservedGeneration >= generation
		if ended && status.Phase.IsFailed() {
			return false, fmt.Errorf("%s has failed: %s", inst.Name, describe(inst))
		}
		return ended && status.ObservedGeneration == inst.Generation && status.Phase == v1alpha1.PhaseSucceeded, nil
	}
}

// Failed waits for a job for a spec of the generation that fails. It ends with an error when one for it or a newer spec succeeds.
func Failed(generation int64) Condition {
	return func(_ watch.EventType, inst *v1alpha1.Installation) (bool, error) {
		status := &inst.Status
		ended := status.JobID != "" && status.JobID == status.JobIDFinished && status.ObservedGeneration >= generation
		if ended && status.Phase == v1alpha1.PhaseSucceeded {
			return false, fmt.Errorf("%s has not failed: %s", inst.Name, describe(inst))
		}
		return ended && status.ObservedGeneration == inst.Generation && status.Phase == v1alpha1.PhaseFailed, nil
	}
}

// Gone waits until an Installation does not exist any more. It ends with an error when its deletion fails.
func Gone() Condition {
	return func(change watch.EventType, inst *v1alpha1.Installation) (bool, error) {
		if inst.Status.Phase == v1alpha1.PhaseDeleteFailed {
			return false, fmt.Errorf("the deletion of %s has failed: %s", inst.Name, describe(inst))
		}
		return change == watch.Deleted, nil
	}
}

func describe(inst *v1alpha1.Installation) string {
	if inst == nil {
		return "never seen"
	}
	text := fmt.Sprintf("phase %q, generation %d observed %d, job %s finished %s", inst.Status.Phase,
		inst.Generation, inst.Status.ObservedGeneration, inst.Status.JobID, inst.Status.JobIDFinished)
	if inst.Status.LastError != nil {
		text += ", last error: " + inst.Status.LastError.Message
	}
	return text
}

// Goal is what a number of Installations has to reach.
type Goal struct {
	observer  *Observer
	condition Condition
	want      int
	reached   map[string]time.Time
	err       error
	closed    chan struct{}
}

// Expect begins to wait for want Installations to meet the condition from now on. An earlier goal is forgotten.
func (o *Observer) Expect(want int, condition Condition) *Goal {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.goal = &Goal{observer: o, condition: condition, want: want, reached: map[string]time.Time{}, closed: make(chan struct{})}
	if o.ended {
		o.goal.fail(errEnded)
	}
	return o.goal
}

func (g *Goal) see(change watch.EventType, inst *v1alpha1.Installation, now time.Time) {
	if g == nil || g.isOver() {
		return
	}
	if _, known := g.reached[inst.Name]; known {
		return
	}
	met, err := g.condition(change, inst)
	if err != nil {
		g.fail(err)
		return
	}
	if !met {
		return
	}
	g.reached[inst.Name] = now
	if len(g.reached) == g.want {
		close(g.closed)
	}
}

func (g *Goal) isOver() bool {
	select {
	case <-g.closed:
		return true
	default:
		return false
	}
}

func (g *Goal) fail(err error) {
	if g == nil || g.isOver() {
		return
	}
	g.err = err
	close(g.closed)
}

// Wait waits until all Installations have met the condition and returns when each did, by name. Its error says how many are missing
// and shows some of them.
func (g *Goal) Wait(ctx context.Context) (map[string]time.Time, error) {
	select {
	case <-g.closed:
	case <-ctx.Done():
		g.observer.mu.Lock()
		g.fail(ctx.Err())
		g.observer.mu.Unlock()
	}
	g.observer.mu.Lock()
	defer g.observer.mu.Unlock()
	if g.err == nil {
		return g.reached, nil
	}
	return nil, fmt.Errorf("%d of %d Installations got there: %w%s", len(g.reached), g.want, g.err, g.missing())
}

// shownMissing is how many Installations an error shows.
const shownMissing = 5

func (g *Goal) missing() string {
	var text string
	shown := 0
	for name, inst := range g.observer.last {
		if _, there := g.reached[name]; there || shown == shownMissing {
			continue
		}
		text += fmt.Sprintf("\n  %s: %s", name, describe(inst))
		shown++
	}
	return text
}
