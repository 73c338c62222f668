// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// clock is one that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

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
		"what it has, for how long ever": {func(u *use, c *clock) { u.set("a", 1); c.pass(time.Hour) }, 1},
		"what it had a moment ago":       {func(u *use, c *clock) { u.set("a", 1); u.set("a", 0); c.pass(lately - 1) }, 1},
		"not what it had longer ago":     {func(u *use, c *clock) { u.set("a", 1); u.set("a", 0); c.pass(lately) }, 0},
		"the most at once":               {func(u *use, c *clock) { u.set("a", 1); u.set("a", 2); u.set("a", 1); u.set("a", 0); c.pass(lately - 1) }, 2},
		"since it last had the most": {func(u *use, c *clock) {
			u.set("a", 2)
			c.pass(time.Hour)
			u.set("a", 1)
			c.pass(lately - 1)
		}, 2},
		"what it has since the most was longer ago": {func(u *use, c *clock) { u.set("a", 2); u.set("a", 1); c.pass(lately) }, 1},
		"what it had since the most was longer ago": {func(u *use, c *clock) {
			u.set("a", 3)
			u.set("a", 2)
			c.pass(lately - 2)
			u.set("a", 1)
			u.set("a", 0)
			c.pass(2)
		}, 2},
		"less, counted anew": {func(u *use, c *clock) {
			u.set("a", 2)
			u.set("a", 1)
			c.pass(lately)
			u.set("a", 0)
			c.pass(lately - 1)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{}
			u := newUse(c.now)
			tc.does(u, c)
			most, _ := u.tenants["a"].lately(c.now())
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
			u.set("a", 3)
			for i, had := range strings.Fields(tc.others) {
				var n int
				_, err := fmt.Sscan(had, &n)
				assert.NoError(t, err)
				u.set(fmt.Sprint(i), n)
			}
			assert.Equal(t, tc.want, part("a", 16, u.needs(16)))
		})
	}
}

func TestWhenPartsAreLarger(t *testing.T) {
	c := &clock{}
	u := newUse(c.now)
	u.set("a", 1)
	assert.Zero(t, u.changes(), "who has a worker may have it for ever")
	u.set("a", 0)
	c.pass(lately / 4)
	u.set("b", 1)
	u.set("b", 0)
	assert.Equal(t, lately-lately/4, u.changes())
	u.set("a", 1)
	assert.Equal(t, lately, u.changes(), "a is back")
}

func TestNothingIsKeptOfWhoIsQuiet(t *testing.T) {
	c := &clock{}
	u := newUse(c.now)
	for range 3 {
		for _, name := range others(100) {
			u.set(name, 1)
			u.set(name, 0)
		}
	}
	c.pass(lately)
	assert.Equal(t, 16, part("a", 16, u.needs(16)))
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
	visit(o, others(4)...)
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
		b := run(t, 16, busyForLong)
		for i, calm := range others(3) {
			b.Add(calm + "/1")
			in(time.Duration(i+1) * 100 * time.Millisecond)
		}
		for _, item := range many("busy", 100, "") {
			b.Add(item)
		}
		var began []int
		for _, after := range []time.Duration{0, lately - 600*time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
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
