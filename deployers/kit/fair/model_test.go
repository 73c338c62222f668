// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// fill returns the largest level that leaves to each of the others what it needs, up to that level.
func fill(workers int, needs []int) int {
	for level := 1; ; level++ {
		left := workers - level - 1
		for _, most := range needs {
			left -= min(most, level+1)
		}
		if left < 0 {
			return level
		}
	}
}

func TestPartsAreTheLargestThatLeaveOthersAsMuch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		workers, u := 1+random.IntN(32), newUse((&clock{}).now)
		set(u, "a", 1+random.IntN(workers))
		var needs []int
		for _, name := range others(random.IntN(40)) {
			needs = append(needs, 1+random.IntN(workers+4))
			set(u, name, needs[len(needs)-1])
		}
		if !assert.Equal(t, fill(workers, needs), equalPart("a", workers, u.needs(workers)), "%d workers, others need %v", workers, needs) {
			return
		}
	}
}

func TestWhatANamespaceHadLatelyIsTheMostAtAnyInstant(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := &clock{}
	u := newUse(c.now)
	has, until := []int{0}, []time.Time{c.now()}
	for range 5000 {
		c.pass(time.Duration(random.Int64N(int64(lately / 2))))
		until[len(until)-1] = c.now()
		has, until = append(has, random.IntN(5)), append(until, c.now())
		set(u, "a", has[len(has)-1])
		want := 0
		for i := max(0, len(has)-100); i < len(has); i++ {
			if c.now().Sub(until[i]) < lately {
				want = max(want, has[i])
			}
		}
		if most, _ := u.tenants["a"].own.lately(c.now()); !assert.Equal(t, want, most) {
			return
		}
	}
}

func TestWhatOthersHadTogetherIsTheMostAtAnyInstant(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := &clock{}
	u := newUse(c.now)
	running := map[string]int{}
	var has []map[string]int
	var until []time.Time
	for range 1000 {
		name := others(5)[random.IntN(5)]
		if running[name] += 1 - random.IntN(3); running[name] <= 0 {
			delete(running, name)
		}
		u.set(name, running)
		u.needs(1 + random.IntN(5))
		has, until = append(has, maps.Clone(running)), append(until, c.now().Add(time.Hour))
		for one, mine := range running {
			want := 0
			for i := max(0, len(has)-100); i < len(has); i++ {
				together := -has[i][one]
				for _, n := range has[i] {
					together += n
				}
				if c.now().Sub(until[i]) < lately {
					want = max(want, together)
				}
			}
			if most, _ := u.tenants[one].beside.lately(c.now()); !assert.Equal(t, want, most, "%s has %d", one, mine) {
				return
			}
		}
		c.pass(1 + time.Duration(random.Int64N(int64(lately/4))))
		until[len(until)-1] = c.now()
	}
}

// TestNoWorkerSleepsBesideAnItemThatMayHaveIt looks at random work at random instants.
func TestNoWorkerSleepsBesideAnItemThatMayHaveIt(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomWork(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

// randomItems are of some tenants, most of them with one of a few sites.
func randomItems(random *rand.Rand, tenants int) (items []string) {
	sites := random.IntN(4)
	for tenant := range tenants {
		for i := range 1 + random.IntN(20) {
			item := fmt.Sprintf("%d/%d", tenant, i)
			if site := random.IntN(4); site < sites {
				item += fmt.Sprintf("@%d", site)
			}
			items = append(items, item)
		}
	}
	return items
}

// randomWork comes during ten seconds. Each item takes less than a second, or twenty.
func randomWork(t *testing.T, random *rand.Rand) {
	workers := []int{1, 2, 3, 4, 5, 8, 16}[random.IntN(7)]
	long, takes := random.Float64()/2, map[string]time.Duration{}
	b := run(t, workers, func(item string) time.Duration { return takes[item] })
	for _, item := range randomItems(random, 1+random.IntN(workers+4)) {
		takes[item] = time.Duration(random.Int64N(int64(time.Second)))
		if random.Float64() < long {
			takes[item] = 20 * time.Second
		}
		for range 1 + random.IntN(2) {
			time.AfterFunc(time.Duration(random.Int64N(int64(10*time.Second))), func() { b.Add(item) })
		}
	}
	var quiet time.Duration
	for last := -1; len(b.done()) < len(takes) || b.Len() > 0; {
		after := time.Duration(random.Int64N(int64(500 * time.Millisecond)))
		in(after)
		quiet += after
		free, waiting := freeAndWaiting(b.order)
		if now := 2*len(b.items()) + free; now != last { // grows with each beginning, and with each end
			last, quiet = now, 0
		}
		if free+spare(workers) > 0 && waiting > 0 && b.order.isDue() {
			t.Fatalf("of %d that wait one may have a worker, and of %d workers %d have nothing to do", waiting, workers, free)
		}
		if free > 0 && waiting > 0 && quiet >= lately {
			t.Fatalf("%d wait although nothing happened lately, and of %d workers %d have nothing to do", waiting, workers, free)
		}
	}
}

// freeAndWaiting returns how many workers, without the spare ones, have nothing to do, and how many items wait.
func freeAndWaiting(o *order[string]) (free, waiting int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.workers - len(o.running), len(o.waiting)
}
