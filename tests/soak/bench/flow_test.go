// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// chainLength and fanWidth are how many units data flows through; a fan has the producer beside them.
const (
	chainLength = 50
	fanWidth    = 500
)

// BenchmarkChain lets data flow through units one after the other: the wall time of a phase is from its beginning to the last of them. Its
// floor is written by one writer, because nothing can be done at the same time.
func BenchmarkChain(b *testing.B) {
	b.Run(fmt.Sprint(chainLength), func(b *testing.B) {
		for range b.N {
			flowOnce(b, fmt.Sprintf("chain/%d", chainLength), rig.Chain, chainLength, 1)
		}
	})
}

// BenchmarkFan lets data flow from one unit to many.
func BenchmarkFan(b *testing.B) {
	b.Run(fmt.Sprint(fanWidth), func(b *testing.B) {
		for range b.N {
			flowOnce(b, fmt.Sprintf("fan/%d", fanWidth), rig.Fan, fanWidth+1, options.workers)
		}
	})
}

// flowOnce creates the units, changes what the first exports, which has to reach all others in one job each, and deletes them.
func flowOnce(b *testing.B, name string, flow rig.Flow, units, floorWriters int) {
	r := newRun(b, name, rig.Units{Flow: flow})
	result := &runResult{Name: name, Units: units}
	b.ResetTimer()
	create := r.measure("create", units, r.observer.Ran(1), func(ctx context.Context, i int) error {
		return r.units.Create(ctx, r.writer, i, "v1")
	})
	pattern, err := r.readPattern(b.Context())
	r.must("read a unit for the floor", err)
	change := r.measure("change", units, r.observer.Ran(2), func(ctx context.Context, i int) error {
		if i > 0 {
			return nil // changes by what flows
		}
		return r.units.Update(ctx, r.writer, i, "v2")
	})
	r.must("change", r.requireArrived(units, "v2"))
	remove := r.measure("delete", units, rig.Gone(), func(ctx context.Context, i int) error {
		return r.units.Delete(ctx, r.writer, i)
	})
	b.StopTimer()
	r.stopPrograms()
	r.must("stop the garbage collector before the floor", r.Process(binaries.ControllerManager).Stop(stopGrace))
	result.Phases = []*phase{create, change, remove}
	result.Floor = r.floor(pattern, units, floorWriters)
	for _, p := range result.Phases {
		p.compare(result.Floor)
	}
	results.Runs = append(results.Runs, result)
	report(b, result)
}

// requireArrived fails unless every ConfigMap of a consumer holds the version of unit 0.
func (r *run) requireArrived(units int, version string) error {
	list := &corev1.ConfigMapList{}
	if err := r.Client().List(r.b.Context(), list, client.InNamespace(r.units.Deployed)); err != nil {
		return err
	}
	arrived := map[string]string{}
	for i := range list.Items {
		arrived[list.Items[i].Name] = list.Items[i].Data["upstream"]
	}
	for i := 1; i < units; i++ {
		if name := r.units.Name(i); arrived[name] != version {
			return fmt.Errorf("ConfigMap %s holds %q", name, arrived[name])
		}
	}
	return nil
}
