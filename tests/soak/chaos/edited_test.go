// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

var everyEdit = flag.Bool("chaos-every-edit", false, "die at every write with every edit, instead of at a sample")

const (
	// sampleStride is how many plans one plan of the sample stands for; no number of edits, programs or phases divides it.
	sampleStride = 11
	// sampleWrites is how many writes the deaths of the sample are spread over.
	sampleWrites  = 14
	sampleTimeout = 9 * time.Minute
	// quietAfterDeath is how long nothing may change after a life with a death. A loop without back-off writes many times in it.
	quietAfterDeath = 500 * time.Millisecond
)

// edits are what the user changes while a program is dead. Each changes there what it changed back another time.
var edits = []struct {
	name string
	make func(w *wish)
}{
	{"spec", func(w *wish) { w.spec = !w.spec }},
	{"values", func(w *wish) { w.values = !w.values }},
	{"chart", func(w *wish) { w.chart = !w.chart }},
	{"target", func(w *wish) { w.target = !w.target }},
	{"mode", func(w *wish) { w.mode = !w.mode }},
	{"name", func(w *wish) { w.name = !w.name }},
	{"everything", everything},
	{"nothing", func(*wish) {}}, // whatever the death left undone no later job makes good
}

func everything(w *wish) {
	*w = wish{spec: !w.spec, values: !w.values, chart: !w.chart, target: !w.target, mode: !w.mode, name: !w.name}
}

// death is a plan: who dies when, while what is under way, and what the user changes before it runs again.
type death struct {
	program string
	// update says that the program dies while an Installation that has succeeded is changed; else it dies while one is created.
	update bool
	at     rig.Moment
	// edit is an index of edits.
	edit int
}

func (d death) String() string {
	during := "creation"
	if d.update {
		during = "an update"
	}
	return fmt.Sprintf("%s dies %s a write, edit of %s during %s", d.program, d.at, edits[d.edit].name, during)
}

func deaths(programs []string) (all []death) {
	for _, program := range programs {
		for _, update := range []bool{false, true} {
			for _, at := range []rig.Moment{rig.BeforeWrite, rig.AfterWrite} {
				for edit := range edits {
					all = append(all, death{program: program, update: update, at: at, edit: edit})
				}
			}
		}
	}
	return all
}

// TestAnEditBetweenDeathAndRestart kills a program at one of its writes, lets the user change the Installation, and starts the program again.
// Afterwards the clusters hold what a fresh install of the last spec puts there, and nothing after the deletion.
func TestAnEditBetweenDeathAndRestart(t *testing.T) {
	ctx := t.Context()
	if !*everyEdit { // what dies everywhere takes as long as -timeout gives
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, sampleTimeout)
		defer cancel()
	}
	programs := []string{rig.Controller, rig.ManifestDeployer, rig.HelmDeployer}
	e := newEditing(ctx, t, programs)
	lives, died := 0, 0
	for i, d := range deaths(programs) {
		switch {
		case *everyEdit:
			times := e.dieAtEach(ctx, d)
			lives, died = lives+times+1, died+times
		case i%sampleStride == 0:
			lives++
			if e.live(ctx, d, 1+i%sampleWrites) {
				died++
			}
		}
	}
	t.Logf("%d lives, %d of them with a death, in %s", lives, died, time.Since(e.begun))
	require.Greater(t, died, lives/2, "the programs hardly ever died")
	e.requireNothingLeft(ctx)
}

// editing is a stage with two clusters to deploy to.
type editing struct {
	*stage
	gates map[string]*rig.Gate
	sites map[string]client.Client
	// fresh is what a fresh install leaves, by what it installs.
	fresh map[wish]snapshot
	// unit is the number of the next unit.
	unit int
}

func newEditing(ctx context.Context, t *testing.T, programs []string) *editing {
	e := &editing{stage: newStage(t, nil), fresh: map[wish]snapshot{}}
	gates, kubeconfigs := e.stage.gates(programs)
	e.gates = gates
	all := func(next http.Handler) http.Handler {
		for _, g := range gates {
			next = g.Handler(next)
		}
		return next
	}
	e.prepareSites(ctx, all)
	e.start(ctx, programs, kubeconfigs)
	for _, name := range programs {
		gates[name].Program = e.programs[name]
	}
	return e
}

// dieAtEach lets the program of a plan die at every write, life by life, and returns how often it died.
func (e *editing) dieAtEach(ctx context.Context, d death) int {
	e.t.Helper()
	for n := 1; n <= mostWrites; n++ {
		if !e.live(ctx, d, n) {
			return n - 1
		}
	}
	require.Fail(e.t, "too many writes", "%s: more than %d", d, mostWrites)
	return mostWrites
}

// live takes one unit through its life and reports whether the program died at write number n.
func (e *editing) live(ctx context.Context, d death, n int) bool {
	e.t.Helper()
	var w wish
	unit, generation, g := e.next(), int64(1), e.gates[d.program]
	if d.update {
		e.succeed(ctx, d, unit, generation, func() error { return e.harness.Create(ctx, e.installation(unit, w)) })
		everything(&w)
		generation++
	}
	last := w
	edits[d.edit].make(&last)
	g.ArmWith(n, d.at, func() error { return e.change(ctx, unit, last) })
	e.succeed(ctx, d, unit, generation, func() error {
		if d.update {
			return e.change(ctx, unit, w)
		}
		return e.harness.Create(ctx, e.installation(unit, w))
	})
	fired, err := g.Settle()
	plan := fmt.Sprintf("%s (number %d, %q, unit %d)", d, n, fired, unit)
	require.NoError(e.t, err, plan)
	inst := e.installation(unit, last)
	require.NoError(e.t, e.harness.Get(ctx, client.ObjectKeyFromObject(inst), inst), plan)
	e.succeed(ctx, plan, unit, inst.Generation, func() error { return nil })
	found := e.found(ctx, unit)
	e.requireStandstill(ctx, quietAfterDeath)
	e.vanish(ctx, plan, unit)
	require.Equal(e.t, e.freshly(ctx, last), found, plan)
	return fired != ""
}

func (e *editing) next() int {
	e.unit++
	return e.unit - 1
}

// freshly returns what a fresh install leaves.
func (e *editing) freshly(ctx context.Context, w wish) snapshot {
	e.t.Helper()
	if _, known := e.fresh[w]; !known {
		unit := e.next()
		e.succeed(ctx, "fresh install", unit, 1, func() error { return e.harness.Create(ctx, e.installation(unit, w)) })
		e.fresh[w] = e.found(ctx, unit)
		e.vanish(ctx, "fresh install", unit)
	}
	return e.fresh[w]
}

// change replaces the spec of a unit.
func (e *editing) change(ctx context.Context, unit int, w wish) error {
	wanted := e.installation(unit, w)
	patch, err := json.Marshal(map[string]any{"spec": wanted.Spec})
	if err != nil {
		return err
	}
	return e.harness.Patch(ctx, wanted, client.RawPatch(types.MergePatchType, patch))
}

// succeed acts and waits until a unit has succeeded with a generation, or a newer one.
func (e *editing) succeed(ctx context.Context, plan any, unit int, generation int64, act func() error) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, lifeTimeout)
	defer cancel()
	condition := rig.Succeeded(generation)
	goal := e.observer.Expect(1, condition)
	require.NoError(e.t, act())
	if last := e.observer.Last(e.units.Name(unit)); last != nil {
		if done, err := condition(watch.Modified, last); done && err == nil {
			return
		}
	}
	_, err := goal.Wait(ctx)
	require.NoError(e.t, err, "%s: %s", plan, e.units.Name(unit))
}

// vanish deletes a unit and requires that nothing of it is left.
func (e *editing) vanish(ctx context.Context, plan string, unit int) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, lifeTimeout)
	defer cancel()
	goal := e.observer.Expect(1, rig.Gone())
	require.NoError(e.t, e.units.Delete(ctx, e.harness, unit))
	_, err := goal.Wait(ctx)
	require.NoError(e.t, err, "%s: deletion of %s", plan, e.units.Name(unit))
	require.Empty(e.t, e.found(ctx, unit), "%s: after the deletion", plan)
}
