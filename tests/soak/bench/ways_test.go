// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// milestone is a point on the way of a unit, in the order of the way.
type milestone int

const (
	requested milestone = iota // the harness begins to create the Installation
	written
	recorded
	executionMade
	itemMade
	handedOver
	pickedUp
	itemFinished
	executionFinished
	succeeded
	milestones
)

func (m milestone) String() string {
	return [milestones]string{
		"requested", "Installation written", "job recorded", "Execution created", "DeployItem created", "job handed over",
		"job picked up", "DeployItem finished", "Execution finished", "Installation succeeded",
	}[m]
}

// way is when a unit was at its milestones.
type way [milestones]time.Time

// ways collects when the harness saw each unit at each milestone.
type ways struct {
	mu      sync.Mutex
	units   map[string]*way
	changed chan struct{} // holds at most one hint that something was added
}

// pass notes that a unit is at a milestone, unless it has been there already.
func (w *ways) pass(unit string, at milestone) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.units[unit] == nil {
		w.units[unit] = &way{}
	}
	if !w.units[unit][at].IsZero() {
		return
	}
	w.units[unit][at] = now
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// see notes what an object tells about its unit.
func (w *ways) see(obj client.Object) {
	switch one := obj.(type) {
	case *v1alpha1.Installation:
		w.pass(one.Name, written)
		w.passIf(one.Status.JobID != "", one.Name, recorded)
		w.passIf(isFinished(&one.Status.JobStatus), one.Name, succeeded)
	case *v1alpha1.Execution:
		w.pass(one.Name, executionMade)
		w.passIf(isFinished(&one.Status.JobStatus), one.Name, executionFinished)
	case *v1alpha1.DeployItem:
		unit := one.Labels[v1alpha1.ExecutionManagedByLabel]
		w.pass(unit, itemMade)
		w.passIf(one.Status.JobID != "", unit, handedOver)
		w.passIf(one.Status.LastReconcileTime != nil, unit, pickedUp)
		w.passIf(isFinished(&one.Status.JobStatus), unit, itemFinished)
	}
}

func (w *ways) passIf(there bool, unit string, at milestone) {
	if there {
		w.pass(unit, at)
	}
}

func isFinished(job *v1alpha1.JobStatus) bool {
	return job.JobID != "" && job.JobID == job.JobIDFinished
}

// of returns the way of a unit, and whether it has been at all milestones.
func (w *ways) of(unit string) (way, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.units[unit] == nil {
		return way{}, false
	}
	for _, at := range w.units[unit] {
		if at.IsZero() {
			return *w.units[unit], false
		}
	}
	return *w.units[unit], true
}

// await returns the whole way of a unit as soon as the watches have seen it.
func (w *ways) await(ctx context.Context, unit string) (way, error) {
	for {
		seen, whole := w.of(unit)
		if whole {
			return seen, nil
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			return way{}, fmt.Errorf("the watches have not seen all of %s: %w", unit, ctx.Err())
		}
	}
}

// watchWays begins to watch Installations, Executions and DeployItems until the benchmark ends.
func (r *run) watchWays(ctx context.Context) (*ways, error) {
	c, err := rig.NewClient(r.Cluster, observerUser)
	if err != nil {
		return nil, err
	}
	w := &ways{units: map[string]*way{}, changed: make(chan struct{}, 1)}
	for _, list := range []client.ObjectList{&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}} {
		watcher, err := c.Watch(ctx, list, client.InNamespace(r.units.Namespace))
		if err != nil {
			return nil, fmt.Errorf("cannot watch %T: %w", list, err)
		}
		r.b.Cleanup(watcher.Stop)
		go w.follow(watcher)
	}
	return w, nil
}

func (w *ways) follow(watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		if obj, ok := event.Object.(client.Object); ok && event.Type != watch.Deleted {
			w.see(obj)
		}
	}
}
