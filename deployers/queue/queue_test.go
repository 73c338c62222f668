// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// before returns what is before the first "/" of an item, its namespace.
func before(item string) string {
	name, _, _ := strings.Cut(item, "/")
	return name
}

// fresh returns a queue of items that are called "namespace/name", in a bubble of synctest.
func fresh(t *testing.T, concurrent, waiting int) *Queue[string] {
	t.Helper()
	q := newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute), concurrent, waiting, before)
	// The library hands an item over to nobody, for good, where the queue is shut down at that moment.
	t.Cleanup(func() { in(0); q.ShutDown(); in(time.Hour) })
	return q
}

// bench is a queue with workers that keep each item for a time.
type bench struct {
	*Queue[string]
	mu    sync.Mutex
	began []string
	ended map[string]time.Time
	// again is called by the worker that has an item, before it is done.
	again func(item string)
}

// run starts as many workers as a controller has. The first items are there before.
func run(t *testing.T, concurrent, waiting int, takes func(item string) time.Duration, first ...string) *bench {
	t.Helper()
	b := &bench{Queue: fresh(t, concurrent, waiting), ended: map[string]time.Time{}, again: func(string) {}}
	b.addAll(first)
	in(0)
	for range Options(concurrent, waiting).MaxConcurrentReconciles {
		go b.work(takes)
	}
	return b
}

func (b *bench) work(takes func(string) time.Duration) {
	for {
		item, shutdown := b.Get()
		if shutdown {
			return
		}
		b.mu.Lock()
		b.began = append(b.began, item)
		b.mu.Unlock()
		if strings.HasSuffix(item, "-waits") {
			b.Waits(item)
		}
		time.Sleep(takes(item))
		b.again(item)
		b.mu.Lock()
		b.ended[item] = time.Now()
		b.mu.Unlock()
		b.Done(item)
	}
}

func (b *bench) addAll(items []string) {
	for _, item := range items {
		b.Add(item)
	}
}

// items returns those that workers have begun, in order.
func (b *bench) items() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.began)
}

// counts returns how many items of each namespace workers have begun.
func (b *bench) counts() map[string]int {
	counts := map[string]int{}
	for _, item := range b.items() {
		counts[before(item)]++
	}
	return counts
}

// done returns when items have ended.
func (b *bench) done() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.ended)
}

// many returns items of a namespace.
func many(namespace string, n int, suffix string) (items []string) {
	for i := range n {
		items = append(items, fmt.Sprintf("%s/%d%s", namespace, i, suffix))
	}
	return items
}

func always(d time.Duration) func(string) time.Duration {
	return func(string) time.Duration { return d }
}

// in returns after a time of the bubble.
func in(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestNineNamespacesBesideOneWith500Jobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 8, 0, always(time.Second))
		b.addAll(many("busy", 500, ""))
		in(10*time.Second + time.Second/2)
		began := time.Now()
		for i := range 9 {
			b.addAll(many(fmt.Sprintf("calm%d", i), 4, ""))
		}
		in(8 * time.Second)
		for i := range 9 {
			for _, item := range many(fmt.Sprintf("calm%d", i), 4, "") {
				require.Contains(t, b.done(), item)
				assert.LessOrEqual(t, b.done()[item].Sub(began), 6*time.Second, "alone they take 5 seconds: 36 items, 8 at a time")
			}
		}
	})
}

func TestWhoGetsTheWorkers(t *testing.T) {
	for name, tc := range map[string]struct {
		waiting     int
		first, then []string
		got         map[string]int
	}{
		"one namespace alone leaves half of the workers": {first: many("a", 100, ""), got: map[string]int{"a": 16}},
		"two share": {first: append(many("a", 100, ""), many("b", 100, "")...), got: map[string]int{"a": 8, "b": 8}},
		"few items of one beside many of another":              {first: append(many("a", 100, ""), many("b", 2, "")...), got: map[string]int{"a": 14, "b": 2}},
		"who comes late gets a quarter":                        {first: many("a", 100, ""), then: many("b", 100, ""), got: map[string]int{"a": 16, "b": 4}},
		"three who come late get a quarter each":               {first: many("a", 100, ""), then: three(100), got: map[string]int{"a": 16, "b": 4, "c": 4, "d": 4}},
		"who waits does not count, for half of those who wait": {waiting: 64, first: many("a", 100, "-waits"), got: map[string]int{"a": 48}},
		"others beside one that waits":                         {waiting: 64, first: many("a", 100, "-waits"), then: three(100), got: map[string]int{"a": 48, "b": 4, "c": 4, "d": 4}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := run(t, 16, tc.waiting, always(time.Minute), tc.first...)
				in(10 * time.Second)
				b.addAll(tc.then)
				in(10 * time.Second)
				assert.Equal(t, tc.got, b.counts())
			})
		})
	}
}

// three returns items of three namespaces.
func three(n int) (items []string) {
	for _, name := range []string{"b", "c", "d"} {
		items = append(items, many(name, n, "")...)
	}
	return items
}

func TestWhatIsNext(t *testing.T) {
	for name, tc := range map[string]struct {
		queued, order []string
	}{
		"who came first":     {queued: []string{"a/1", "b/1", "c/1"}, order: []string{"a/1", "b/1", "c/1"}},
		"namespaces in turn": {queued: []string{"a/1", "a/2", "b/1", "b/2"}, order: []string{"a/1", "b/1", "a/2", "b/2"}},
		"a high priority":    {queued: []string{"a/1-", "b/1-", "a/2"}, order: []string{"a/2", "b/1-", "a/1-"}},
		"not beyond a quarter, whatever the priority": {queued: []string{"a/1", "a/2", "b/1-"}, order: []string{"a/1", "b/1-", "a/2"}},
		"the priority of one that waits is raised":    {queued: []string{"a/1-", "b/1-", "c/1-", "b/1-!"}, order: []string{"b/1-", "a/1-", "c/1-"}},
		"one more event changes nothing":              {queued: []string{"a/1", "b/1", "a/1", "a/2"}, order: []string{"a/1", "b/1", "a/2"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := fresh(t, 4, 0)
				for _, item := range tc.queued {
					priority := 0
					if strings.HasSuffix(item, "-") {
						priority = -100
					}
					q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, strings.TrimSuffix(item, "!"))
					synctest.Wait()
				}
				var got []string
				for range tc.order {
					item, priority, _ := q.GetWithPriority()
					got = append(got, item)
					if !strings.HasSuffix(item, "-") || item == "b/1-" && slices.Contains(tc.queued, "b/1-!") {
						assert.Zero(t, priority, item)
					} else {
						assert.Equal(t, -100, priority, item)
					}
				}
				assert.Equal(t, tc.order, got)
			})
		})
	}
}

func TestOneThatComesAgainAndAgainStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 1, 0, always(time.Second))
		b.again = func(item string) {
			if before(item) != "b" {
				b.Add(item)
				time.Sleep(time.Millisecond)
			}
		}
		b.addAll([]string{"a/1", "c/1", "d/1"})
		in(10 * time.Second)
		b.Add("b/1")
		in(3 * time.Second)
		assert.Contains(t, b.done(), "b/1")
	})
}

func TestEverythingIsDoneHoweverItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 8, 8, func(item string) time.Duration { return time.Duration(len(item)) * time.Millisecond })
		for tenant := range 7 {
			for _, suffix := range []string{"", "-waits", "-other"} {
				go b.addAll(many(fmt.Sprint(tenant), 50, suffix))
			}
		}
		in(time.Hour)
		assert.Len(t, b.done(), 7*50*3)
		assert.Empty(t, b.namespaces, "nothing is kept")
		assert.Empty(t, b.queued)
		assert.Empty(t, b.working)
	})
}

func TestAnItemIsNeverWithTwoWorkersAndNoEventIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, 0, always(time.Minute))
		b.Add("a/1")
		in(time.Second)
		b.Add("a/1")
		b.Add("a/1")
		in(10 * time.Second)
		assert.Len(t, b.items(), 1)
		in(10 * time.Minute)
		assert.Len(t, b.items(), 2)
	})
}

// TestWhatWaitsForAnInstant adds items while all workers are busy: else one may begin before it is added again.
func TestWhatWaitsForAnInstant(t *testing.T) {
	rateLimited := priorityqueue.AddOpts{RateLimited: true}
	for name, tc := range map[string]struct {
		add   func(*bench)
		began int
	}{
		"waits":                      {func(b *bench) { b.AddAfter("a/1", time.Hour) }, 0},
		"comes then":                 {func(b *bench) { b.AddAfter("a/1", time.Second) }, 1},
		"comes earlier for an event": {func(b *bench) { b.AddAfter("a/1", time.Hour); b.Add("a/1") }, 1},
		"comes once":                 {func(b *bench) { b.AddAfter("a/1", time.Second); b.Add("a/1") }, 1},
		"comes once, whatever came first": {func(b *bench) {
			b.Add("a/1")
			in(time.Millisecond)
			b.AddWithOpts(priorityqueue.AddOpts{After: time.Second}, "a/1")
			b.AddWithOpts(rateLimited, "a/1")
		}, 1},
		"retries": {func(b *bench) { b.AddRateLimited("a/1") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := run(t, 4, 0, always(10*time.Second))
				for i := range 8 {
					b.Add(fmt.Sprintf("busy%d/1", i))
				}
				in(time.Millisecond)
				require.Len(t, b.items(), 8)
				tc.add(b)
				in(time.Minute)
				assert.Len(t, b.items()[8:], tc.began)
			})
		})
	}
}

func TestAnEventDuringTheWorkTakesThePlaceOfTheNextLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, 0, always(time.Second))
		b.again = func(item string) {
			if len(b.items()) == 1 {
				b.Add(item)
				in(time.Millisecond)
				b.AddWithOpts(priorityqueue.AddOpts{After: 10 * time.Second}, item)
			}
		}
		b.Add("a/1")
		in(time.Minute)
		assert.Len(t, b.items(), 2)
	})
}

func TestRetriesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fresh(t, 4, 0)
		q.Add("a/1")
		synctest.Wait()
		q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, "a/1")
		assert.Equal(t, 1, q.NumRequeues("a/1"))
		q.Forget("a/1")
		assert.Zero(t, q.NumRequeues("a/1"))
	})
}

func TestWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, 0, always(time.Second))
		b.addAll(many("a", 100, ""))
		in(time.Millisecond)
		b.PriorityQueue.AddAfter("a/1", time.Minute)
		b.ready.ShutDown()
		b.due.Broadcast()
		in(time.Minute)
		assert.Len(t, b.done(), 4)
	})
}

func TestNamespacesOfObjects(t *testing.T) {
	request := func(namespace, name string) ctrl.Request {
		return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	}
	assert.Equal(t, "n", namespaceOf(request("n", "a")))
	assert.Equal(t, "/a", namespaceOf(request("", "a")))
	for concurrent, want := range map[int]int{0: 2, 1: 2, 4: 8, 16: 32} {
		assert.Equal(t, want, Options(concurrent, 0).MaxConcurrentReconciles)
	}
	assert.Equal(t, 96, Options(16, 64).MaxConcurrentReconciles)
}

func BenchmarkQueue(b *testing.B) {
	for _, namespaces := range []int{1, 100, 5000} {
		b.Run(fmt.Sprintf("%d namespaces", namespaces), func(b *testing.B) {
			q := newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute), 16, 0, before)
			defer q.ShutDown()
			for i := range namespaces {
				for _, item := range many(fmt.Sprint(i), 20000/namespaces, "") {
					q.put(item, 0)
				}
			}
			for b.Loop() {
				item, _ := q.Get()
				q.Done(item)
				q.put(item, 0)
			}
		})
	}
}
