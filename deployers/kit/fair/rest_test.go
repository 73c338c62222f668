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

// doneBeside returns how many items of a busy namespace end in a second beside one that has an item of a millisecond in every twenty. The latter had its
// first one a second before.
func doneBeside(t *testing.T, short bool, takes time.Duration) (busy int) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, func(item string) time.Duration {
			if strings.HasPrefix(item, "calm") {
				return time.Millisecond
			}
			return takes
		})
		b.order.short = func() bool { return short }
		b.Add("calm/first")
		in(time.Second)
		for _, item := range many("busy", 10_000, "") {
			b.Add(item)
		}
		for i := range 50 {
			b.Add(fmt.Sprint("calm/", i))
			in(20 * time.Millisecond)
		}
		for item := range b.done() {
			if strings.HasPrefix(item, "busy") {
				busy++
			}
		}
		assert.Equal(t, busy+51, len(b.done()), "nobody waits for the busy one")
	})
	return busy
}

func TestWhoWorksMuchRestsWhereProcessorsAreShort(t *testing.T) {
	assert.Equal(t, 300, doneBeside(t, false, 10*time.Millisecond), "all workers but the one that the other had")
	resting := doneBeside(t, true, 10*time.Millisecond)
	assert.Greater(t, resting, 30)
	assert.Less(t, resting, 120)
}

// TestRestsAreShort has items that take a second: the only worker ends one, and begins the next half a second later.
func TestRestsAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 1, always(time.Second))
		b.order.short = func() bool { return true }
		b.Add("calm/1")
		in(time.Second)
		for _, item := range many("busy", 10, "") {
			b.Add(item)
		}
		in(4*time.Second + 10*time.Millisecond)
		assert.Len(t, b.items(), 5, "it rests after the second one; six without a rest")
	})
}

func TestWhoRestedGoesOnByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, always(10*time.Millisecond))
		b.order.short = func() bool { return true }
		b.Add("calm/1")
		in(time.Second)
		for _, item := range many("busy", 30, "") {
			b.Add(item)
		}
		in(500 * time.Millisecond)
		assert.Equal(t, 31, len(b.done()))
	})
}

func TestOneNamespaceAloneDoesNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, always(10*time.Millisecond))
		b.order.short = func() bool { return true }
		b.Add("other/1")
		in(2 * lately)
		for _, item := range many("a", 400, "") {
			b.Add(item)
		}
		in(time.Second + time.Millisecond)
		assert.Equal(t, 401, len(b.done()))
	})
}

func TestThoseWhoWorkAlikeDoNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, always(10*time.Millisecond))
		b.order.short = func() bool { return true }
		for i := range 200 {
			b.Add(fmt.Sprint("a/", i))
			b.Add(fmt.Sprint("b/", i))
		}
		in(1100 * time.Millisecond)
		assert.Equal(t, 400, len(b.done()))
	})
}

// TestEverythingIsDoneWhereProcessorsAreShort has namespaces of which each works more than the one before.
func TestEverythingIsDoneWhereProcessorsAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 8, func(item string) time.Duration { return time.Duration(len(item)) * time.Millisecond })
		b.order.short = func() bool { return true }
		all := 0
		for tenant := range 7 {
			for site := range 3 {
				items := many(strings.Repeat("x", 1+tenant*tenant), 10*(tenant+1), fmt.Sprintf("@%d", site))
				all += len(items)
				for _, item := range items {
					b.Add(item)
				}
			}
		}
		in(time.Minute)
		assert.Equal(t, all, len(b.done()))
	})
}

func TestNamespacesThatRestedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder(4, placed, addressed, time.Now)
		o.short = func() bool { return true }
		for i := range 100 {
			push(o, "calm/1", fmt.Sprintf("busy%d/1", i))
			calm, busy := o.Pop(), o.Pop()
			time.Sleep(100 * time.Millisecond)
			o.release(calm)
			time.Sleep(time.Second)
			assert.Positive(t, o.release(busy))
			time.Sleep(2 * lately)
		}
		assert.Len(t, o.rests, 1)
		assert.LessOrEqual(t, len(o.use.tenants), 2)
	})
}

// TestTinyNamespacesMakeNobodyRest has two namespaces that work alike beside ten that have an item of a millisecond in every second.
func TestTinyNamespacesMakeNobodyRest(t *testing.T) {
	done := map[bool]int{}
	for _, short := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := run(t, 16, func(item string) time.Duration {
				if strings.HasPrefix(item, "tiny") {
					return time.Millisecond
				}
				return 20 * time.Millisecond
			})
			b.order.short = func() bool { return short }
			for i := range 5000 {
				b.Add(fmt.Sprint("a/", i))
				b.Add(fmt.Sprint("b/", i))
			}
			for second := range 10 {
				for i := range 10 {
					b.Add(fmt.Sprintf("tiny%d/%d", i, second))
				}
				in(time.Second)
			}
			done[short] = len(b.done())
		})
	}
	assert.InDelta(t, done[false], done[true], 0.05*float64(done[false]))
}

// TestLongItemsOfOthersCountBeforeTheyEnd adds the long items while all workers are busy: else they have as many as
// begin before the small ones are added.
func TestLongItemsOfOthersCountBeforeTheyEnd(t *testing.T) {
	done := map[bool]int{}
	for _, short := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := run(t, 8, func(item string) time.Duration {
				if strings.HasPrefix(item, "long") && item != "long/0" { // the first one has ended
					return 20 * time.Second
				}
				return 100 * time.Millisecond
			})
			b.order.short = func() bool { return short }
			for _, item := range many("small", 1000, "") {
				b.Add(item)
			}
			in(50 * time.Millisecond)
			for _, item := range many("long", 100, "") {
				b.Add(item)
			}
			in(15 * time.Second)
			done[short] = len(b.done())
		})
	}
	assert.InDelta(t, done[false], done[true], 0.05*float64(done[false]))
}

func TestALongItemCountsForLatelyOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUse(time.Now)
		u.set("a", map[string]int{"a": 1})
		time.Sleep(time.Hour)
		u.set("a", map[string]int{})
		assert.InDelta(t, lately.Seconds(), u.tenants["a"].load.seconds, 1e-6)
	})
}

// TestWhoHadNoWorkerLatelyMakesNobodyRest has a namespace whose last work is over for a moment when another one begins an item, and for long when that
// ends. Nobody looks for items meanwhile.
func TestWhoHadNoWorkerLatelyMakesNobodyRest(t *testing.T) {
	for takes, rests := range map[time.Duration]bool{time.Second: true, 2 * lately: false} {
		synctest.Test(t, func(t *testing.T) {
			o := newOrder(4, placed, addressed, time.Now)
			o.short = func() bool { return true }
			push(o, "other/1")
			other := o.Pop()
			time.Sleep(100 * time.Millisecond)
			o.release(other)
			push(o, "a/1")
			a := o.Pop()
			time.Sleep(takes)
			assert.Equal(t, rests, o.release(a) > 0)
		})
	}
}

func TestARestIsNotMadeLongerAndLonger(t *testing.T) {
	begun := time.Now()
	r := rest{}
	for i := range 100 {
		r = r.extended(begun.Add(time.Duration(i)*time.Millisecond), longestRest)
	}
	assert.Equal(t, begun.Add(longestRest), r.until)
	later := r.until.Add(time.Second)
	assert.Equal(t, later.Add(time.Millisecond), r.extended(later, time.Millisecond).until)
}
