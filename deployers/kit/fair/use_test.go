// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// clock is one that tests set.
type clock struct{ since time.Duration }

func (c *clock) now() time.Time { return time.Unix(0, 0).Add(c.since) }

func (c *clock) pass(d time.Duration) { c.since += d }

// set lets one namespace have workers, and no other.
func set(u *use, tenant string, has int) { u.set(tenant, map[string]int{tenant: has}) }

// others are names of namespaces.
func others(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("other-%d", i))
	}
	return names
}

// visit lets namespaces have a worker each at the same time, whose items are done at once.
func visit(o *order[string], tenants ...string) {
	for _, tenant := range tenants {
		push(o, tenant+"/visit")
	}
	var items []string
	for o.isDue() {
		items = append(items, o.Pop())
	}
	for _, item := range items {
		o.release(item)
	}
}

func TestWhatANamespaceHadLately(t *testing.T) {
	for name, tc := range map[string]struct {
		does func(u *use, c *clock)
		want int
	}{
		"nothing":                        {func(*use, *clock) {}, 0},
		"what it has, for how long ever": {func(u *use, c *clock) { set(u, "a", 1); c.pass(time.Hour) }, 1},
		"what it had a moment ago":       {func(u *use, c *clock) { set(u, "a", 1); set(u, "a", 0); c.pass(lately - 1) }, 1},
		"not what it had longer ago":     {func(u *use, c *clock) { set(u, "a", 1); set(u, "a", 0); c.pass(lately) }, 0},
		"the most at once": {func(u *use, c *clock) {
			set(u, "a", 1)
			set(u, "a", 2)
			set(u, "a", 1)
			set(u, "a", 0)
			c.pass(lately - 1)
		}, 2},
		"since it last had the most": {func(u *use, c *clock) {
			set(u, "a", 2)
			c.pass(time.Hour)
			set(u, "a", 1)
			c.pass(lately - 1)
		}, 2},
		"what it has since the most was longer ago": {func(u *use, c *clock) { set(u, "a", 2); set(u, "a", 1); c.pass(lately) }, 1},
		"what it had since the most was longer ago": {func(u *use, c *clock) {
			set(u, "a", 3)
			set(u, "a", 2)
			c.pass(lately - 2)
			set(u, "a", 1)
			set(u, "a", 0)
			c.pass(2)
		}, 2},
		"less, counted anew": {func(u *use, c *clock) {
			set(u, "a", 2)
			set(u, "a", 1)
			c.pass(lately)
			set(u, "a", 0)
			c.pass(lately - 1)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{}
			u := newUse(c.now)
			tc.does(u, c)
			most, _ := u.tenants["a"].own.lately(c.now())
			assert.Equal(t, tc.want, most)
		})
	}
}

func TestPartsOfTheWorkers(t *testing.T) {
	for _, tc := range []struct {
		others string
		want   int
	}{
		{others: "", want: 16},
		{others: "1", want: 15},
		{others: "1 1 1 1 1 1 1 1 1", want: 7},
		{others: "6 1", want: 9},
		{others: "16", want: 8},
		{others: "16 1", want: 7},
		{others: "16 2 2", want: 6},
		{others: "16 16 16", want: 4},
		{others: strings.Repeat("1 ", 15), want: 1},
		{others: strings.Repeat("16 ", 100), want: 1},
	} {
		t.Run(tc.others, func(t *testing.T) {
			u := newUse((&clock{}).now)
			set(u, "a", 3)
			for i, had := range strings.Fields(tc.others) {
				var n int
				_, err := fmt.Sscan(had, &n)
				assert.NoError(t, err)
				set(u, fmt.Sprint(i), n)
			}
			assert.Equal(t, tc.want, equalPart("a", 16, u.needs(16)))
		})
	}
}

func TestWhenPartsAreLarger(t *testing.T) {
	c := &clock{}
	u := newUse(c.now)
	set(u, "a", 1)
	assert.Zero(t, u.changes(), "who has a worker may have it for ever")
	set(u, "a", 0)
	c.pass(lately / 4)
	set(u, "b", 1)
	set(u, "b", 0)
	assert.Equal(t, lately-lately/4, u.changes())
	c.pass(lately)
	assert.Zero(t, u.changes())
}

// TestANamespaceMayHaveWhatOthersNeverHadTogether has "a" with workers beside others, some of which have one each at a time.
func TestANamespaceMayHaveWhatOthersNeverHadTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		does func(u *use, c *clock, running map[string]int)
		want int
	}{
		"one at a time":         {func(u *use, _ *clock, running map[string]int) { visitors(u, running, 20, 1) }, 15},
		"two at a time":         {func(u *use, _ *clock, running map[string]int) { visitors(u, running, 20, 2) }, 14},
		"all of them at a time": {func(u *use, _ *clock, running map[string]int) { visitors(u, running, 20, 20) }, 1},
		"nobody of late":        {func(u *use, c *clock, running map[string]int) { visitors(u, running, 20, 2); c.pass(lately) }, 16},
		"where an equal part is more": {func(u *use, _ *clock, running map[string]int) {
			running["b"] = 12
			u.set("b", running)
		}, 8},
		"as others had during a pause": {func(u *use, c *clock, running map[string]int) {
			pause(u, running, func() { c.pass(1); visitors(u, running, 20, 4) })
		}, 12},
		"as others had before it came": {func(u *use, c *clock, running map[string]int) {
			pause(u, running, func() { c.pass(2 * lately); visitors(u, running, 20, 4); u.needs(16) })
		}, 12},
		"its own before a pause is not that of others": {func(u *use, c *clock, running map[string]int) {
			running["a"] = 12
			u.set("a", running)
			c.pass(1)
			pause(u, running, func() { c.pass(1) })
		}, 16},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{}
			u := newUse(c.now)
			running := map[string]int{"a": 2}
			u.set("a", running)
			tc.does(u, c, running)
			assert.Equal(t, tc.want, u.part("a", 16, u.needs(16)))
		})
	}
}

// pause lets something happen while "a" has no worker.
func pause(u *use, running map[string]int, meanwhile func()) {
	delete(running, "a")
	u.set("a", running)
	meanwhile()
	running["a"] = 1
	u.set("a", running)
}

// visitors are namespaces that have a worker each, so many of them at once.
func visitors(u *use, running map[string]int, count, atOnce int) {
	for guests := range slices.Chunk(others(count), atOnce) {
		for _, name := range guests {
			running[name] = 1
			u.set(name, running)
		}
		for _, name := range guests {
			delete(running, name)
			u.set(name, running)
		}
	}
}

func TestNothingIsKeptOfWhoIsQuiet(t *testing.T) {
	c := &clock{}
	u := newUse(c.now)
	for range 3 {
		for _, name := range others(100) {
			set(u, name, 1)
			set(u, name, 0)
		}
	}
	c.pass(lately)
	assert.Equal(t, 16, equalPart("a", 16, u.needs(16)))
	assert.Empty(t, u.tenants)
}

func TestOneNamespaceBesideThoseThatHadWorkersLately(t *testing.T) {
	for _, tc := range []struct{ workers, others, during int }{
		{workers: 16, others: 0, during: 16},
		{workers: 16, others: 1, during: 15},
		{workers: 16, others: 9, during: 7},
		{workers: 16, others: 100, during: 1},
		{workers: 3, others: 1, during: 2},
		{workers: 1, others: 9, during: 1},
	} {
		t.Run(fmt.Sprintf("%d others, %d workers", tc.others, tc.workers), func(t *testing.T) {
			c := &clock{}
			o := newOrder(tc.workers, placed, addressed, c.now)
			visit(o, others(tc.others)...)
			push(o, many("a", 100, "")...)
			c.pass(lately - 1)
			during := start(o)["a"]
			c.pass(1)
			assert.Equal(t, []int{tc.during, tc.workers}, []int{during, during + start(o)["a"]})
		})
	}
}

// besideASlowSite returns an order in which "d" has its part of the workers, and "a" less than its part, but the slow site the quarter that it may have.
func besideASlowSite() *order[string] {
	o := newOrder(16, placed, addressed, time.Now)
	visit(o, others(8)...)
	push(o, many("d", 8, "")...)
	start(o)
	push(o, append(many("a", 3, "@slow"), "b/1@slow")...)
	start(o)
	return o
}

func TestACrowdGetsNothingOfWhatANamespaceIsKeptFrom(t *testing.T) {
	o := besideASlowSite()
	push(o, "d/held", "a/more@slow")
	assert.Empty(t, start(o))
}

func TestACrowdOfNamespacesWithoutWorkersIsNotHeldBack(t *testing.T) {
	o := newOrder(16, placed, addressed, time.Now)
	visit(o, others(8)...)
	push(o, many("a", 50, "@slow")...)
	push(o, many("d", 50, "")...)
	start(o)
	push(o, many("b", 50, "@slow")...)
	assert.Equal(t, map[string]int{"b": 1}, start(o))
}

func TestAnotherSiteOfANamespaceThatHasItsPart(t *testing.T) {
	o := newOrder(16, placed, addressed, time.Now)
	visit(o, others(12)...)
	push(o, many("a", 50, "@slow")...)
	assert.Equal(t, map[string]int{"a": 4}, start(o))
	push(o, sited("a", 50)...)
	assert.Equal(t, map[string]int{"a": 2}, start(o), "half of the spare workers")
}

// TestAnItemThatComesBetweenTheQuestionAndTheAnswer has the item that was due wait again once another has come.
func TestAnItemThatComesBetweenTheQuestionAndTheAnswer(t *testing.T) {
	o := besideASlowSite()
	push(o, "a/due@slow")
	assert.True(t, o.isDue())
	push(o, "d/held")
	assert.False(t, o.isDue())
	assert.Contains(t, []string{"a/due@slow", "d/held"}, o.Pop(), "a worker waits for it already")
}

func TestTheOrderStaysBesideThoseThatHadWorkersLately(t *testing.T) {
	o := newOrder(4, placed, addressed, time.Now)
	visit(o, others(3)...)
	push(o, "a/1-", "a/2", "a/3", "b/1-", "b/2")
	var order []string
	for range 5 {
		item := o.Pop()
		order = append(order, item)
		o.release(item)
	}
	assert.Equal(t, []string{"a/2", "a/3", "b/2", "a/1-", "b/1-"}, order)
}

// busyForLong keeps a worker with each item of the namespace busy.
func busyForLong(item string) time.Duration {
	if placed(item).tenant == "busy" {
		return time.Hour
	}
	return 0
}

func TestWorkersComeBackByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const step = 100 * time.Millisecond
		times := map[string]time.Duration{"other-0/1": step, "other-1/1": 2 * step, "other-2/1": 3 * step}
		b := run(t, 16, func(item string) time.Duration { return max(busyForLong(item), times[item]) })
		for item := range times {
			b.Add(item)
		}
		in(4 * step)
		for _, item := range many("busy", 100, "") {
			b.Add(item)
		}
		var began []int
		for _, after := range []time.Duration{0, lately - 3*step, step, step} {
			in(after)
			began = append(began, len(b.items())-3)
		}
		assert.Equal(t, []int{13, 14, 15, 16}, began)
	})
}

func TestOneThatHadTwoWorkersOnceKeepsTheOneThatItNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 16, func(item string) time.Duration { return max(busyForLong(item), lately/30) })
		b.Add("calm/1")
		b.Add("calm/2")
		in(lately / 5)
		for _, item := range many("busy", 100, "") {
			b.Add(item)
		}
		for range 20 {
			b.Add("calm/1")
			in(lately / 4)
		}
		assert.Len(t, b.items(), 22+15)
	})
}

// TestManyThatDoLittleKeepLittleFree has more namespaces than workers, each of which works for a moment every few seconds.
func TestManyThatDoLittleKeepLittleFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 16, func(item string) time.Duration {
			if placed(item).tenant == "busy" {
				return time.Second
			}
			return time.Millisecond
		})
		calm := time.NewTicker(lately / 18)
		defer calm.Stop()
		for _, item := range many("busy", 320, "") {
			b.Add(item)
		}
		for i := 0; len(b.done()) < 320+17; i++ {
			<-calm.C
			b.Add(others(17)[i%17] + "/1")
			if !assert.Less(t, i, 18*10, "30 seconds, where 20 are enough for the busy one alone") {
				return
			}
		}
	})
}

func TestOneThatComesAgainAndAgainKeepsItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 16, busyForLong)
		b.Add("calm/1")
		in(lately / 3)
		for _, item := range many("busy", 100, "") {
			b.Add(item)
		}
		for range 20 {
			in(lately / 3)
			b.Add("calm/1")
		}
		in(0)
		assert.Len(t, b.items(), 21+15)
	})
}
