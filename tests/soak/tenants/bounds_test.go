// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

const (
	// mostCost is how many times as long as alone the lives of the neighbours may take beside one namespace, whatever it does.
	mostCost = 2.0
	// tries are how often that is measured until it is so: other suites run side by side, and not all the time.
	tries = 3
	// bombTime is how much longer a job may take that never ends by itself than a harmless one.
	bombTime = 10 * time.Second
	// lateItem is the timeout of items for a target that is late. It is longer than an answer may take.
	lateItem = 75 * time.Second
)

// requireCheap checks that an act costs the neighbours little. The processes have --concurrent=8.
func requireCheap(t *testing.T, a act) {
	t.Helper()
	var times []float64
	for range tries {
		alone := lives(t)
		h := newHostile(t, many)
		a.begin(h)
		beside := lives(t)
		h.leave()
		times = append(times, beside.Seconds()/alone.Seconds())
		t.Logf("alone %s, beside it %s", alone.Round(time.Millisecond), beside.Round(time.Millisecond))
		if times[len(times)-1] <= mostCost {
			break
		}
	}
	assert.LessOrEqual(t, slices.Min(times), mostCost, "times as long as alone")
	requireAlive(t)
}

// lives returns how long the lives of neighbours take, in the median.
func lives(t *testing.T) time.Duration {
	t.Helper()
	var all []time.Duration
	for range rounds {
		all = append(all, newNeighbours(t).live(t))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// misbehaving are targets of which no job succeeds, with what an item says of them.
var misbehaving = []struct {
	act
	says []string
}{
	{act{"silent", silentTarget}, []string{"did not answer in time; check its address and the server behind it"}},
	{act{"mute", mutedTarget}, []string{"did not answer in time; check its address and the server behind it"}},
	{act{"drips", drippingTarget}, []string{"did not send the whole answer in time; check its address and the server behind it"}},
	{act{"endless", endlessTarget}, []string{"the answer of the server is too large; check its address and the server behind it"}},
	{act{"redirects", redirectingTarget}, []string{"the server redirects, which is not followed; name the address that it leads to"}},
}

// TestE2ET04ATargetThatMisbehavesCostsOthersLittle has twenty jobs with items of two deployers for such a target beside nine namespaces that only want to work.
func TestE2ET04ATargetThatMisbehavesCostsOthersLittle(t *testing.T) {
	newNeighbours(t).live(t) // so that all is open that stays open
	for _, target := range misbehaving {
		t.Run(target.name, func(t *testing.T) { requireCheap(t, target.act) })
	}
}

// TestE2ET04ATargetThatMisbehavesFailsItsItem has one item of each deployer for each such target.
func TestE2ET04ATargetThatMisbehavesFailsItsItem(t *testing.T) {
	for _, target := range misbehaving {
		t.Run(target.name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t, 0)
			h.hasty = true // no job of the act has to come
			target.begin(h)
			onTrap := object{"imports": object{"targets": []any{object{"name": "cluster", "target": "trap"}}}}
			late := fmt.Sprintf("  timeout: %s\n", lateItem)
			for name, item := range map[string]string{
				"manifest": landscape.ConfigItem("manifest", "{import: cluster}", h.Namespace, "hostile", "value: x") + late,
				"chart":    chartItem("chart", h.Namespace, map[string]string{"templates/config.yaml": configTemplate}) + late,
			} {
				require.NoError(t, h.create(name, object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + item)}, onTrap))
			}
			for _, name := range []string{"manifest", "chart"} {
				last := h.Ended(name, v1alpha1.PhaseFailed).Status.LastError
				t.Logf("%s: %s", name, last.Message)
				for _, words := range append(slices.Clone(target.says), `Target "trap"`, "deploy item "+name) {
					assert.Contains(t, last.Message, words)
				}
			}
			h.stop()
			h.abandon()
		})
	}
}

// bombs are jobs that never end by themselves, or take all memory, one of each program of users, with what is said of them.
var bombs = []struct {
	name  string
	begin func(h *hostile)
	says  []string
}{
	{"GoTemplate", one(templates("GoTemplate", goTemplateBombs[1:2])), []string{`deployExecutions[0]`, "default", "loop without end"}},
	{"GoTemplate in memory", one(templates("GoTemplate", goTemplateBombs[5:6])), []string{`deployExecutions[0]`, "default"}},
	{"Spiff", one(templates("Spiff", spiffBombs[2:3])), []string{`deployExecutions[0]`, "default"}},
	{"schema", one(schemas), []string{"word", "schema"}},
	{"chart", one(charts), []string{"chart/templates/x.yaml", "loop without end"}},
}

// one does what an act does, with one object.
func one(begin func(h *hostile)) func(h *hostile) {
	return func(h *hostile) {
		h.many = 1
		begin(h)
	}
}

// TestE2EBombsFailTheirOwnItemInTime measures each bomb beside the same Installation without one, and the lives of others beside many.
func TestE2EBombsFailTheirOwnItemInTime(t *testing.T) {
	newNeighbours(t).live(t) // so that all is open that stays open
	for _, bomb := range bombs {
		t.Run(bomb.name, func(t *testing.T) {
			h := newHostile(t, 1)
			begun := time.Now()
			require.NoError(t, h.create("harmless", object{"deployExecutions": landscape.GoTemplate("deployItems:\n" +
				chartItem("harmless", h.Namespace, map[string]string{"templates/config.yaml": configTemplate}))}, nil))
			h.Succeeded("harmless")
			harmless := time.Since(begun)
			begun = time.Now()
			bomb.begin(h)
			last := h.Ended("hostile-0", v1alpha1.PhaseFailed).Status.LastError
			took := time.Since(begun)
			t.Logf("after %s, a harmless one after %s: %s", took.Round(time.Millisecond), harmless.Round(time.Millisecond), last.Message)
			assert.Less(t, took-harmless, bombTime)
			for _, words := range bomb.says {
				assert.Contains(t, last.Message, words)
			}
			h.leave()
		})
	}
	for name, begin := range map[string]func(*hostile){
		"many GoTemplates": templates("GoTemplate", goTemplateBombs), "many schemas": schemas, "many charts": charts,
	} {
		t.Run(name, func(t *testing.T) { requireCheap(t, act{name, begin}) })
	}
}
