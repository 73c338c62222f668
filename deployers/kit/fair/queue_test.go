// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"fmt"
	"maps"
	"slices"
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

// bench is a queue with workers that keep each item for a time.
type bench struct {
	*queue[string]
	mu    sync.Mutex
	began []string
	ended map[string]time.Time
	// again is called by the worker that has an item, before it is done.
	again func(item string)
}

// run starts as many workers as a controller has, in a bubble of synctest.
func run(t *testing.T, workers int, takes func(item string) time.Duration) *bench {
	t.Helper()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
	b := &bench{queue: newQueue("", limiter, newOrder(workers, placed, addressed, time.Now)), ended: map[string]time.Time{}, again: func(string) {}}
	for range workers + spare(workers) {
		go b.work(takes)
	}
	// The library hands an item over to nobody, for good, where the queue is shut down at that moment.
	t.Cleanup(func() { in(0); b.ShutDown(); in(time.Hour) })
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
		time.Sleep(takes(item))
		b.again(item)
		b.mu.Lock()
		b.ended[item] = time.Now()
		b.mu.Unlock()
		b.Done(item)
	}
}

// items returns those that workers have begun, in order.
func (b *bench) items() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.began)
}

// done returns when items have ended.
func (b *bench) done() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.ended)
}

func always(d time.Duration) func(string) time.Duration {
	return func(string) time.Duration { return d }
}

// in returns after a time of the bubble.
func in(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestOneOfAnotherNamespaceIsDoneAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 16, always(time.Minute))
		for _, item := range many("busy", 1000, "") {
			b.Add(item)
		}
		in(10 * time.Second)
		assert.Len(t, b.items(), 16)
		b.Add("calm/1")
		in(time.Second)
		assert.Equal(t, "calm/1", b.items()[len(b.items())-1])
	})
}

func TestManyClustersOfOneNamespaceDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 16, always(time.Minute))
		for _, item := range sited("busy", 1000) {
			b.Add(item)
		}
		in(10 * time.Second)
		b.Add("calm/1")
		in(time.Second)
		assert.Equal(t, "calm/1", b.items()[len(b.items())-1])
	})
}

func TestAllWorkersOfOneNamespaceWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 16, always(time.Second))
		for _, item := range many("a", 160, "") {
			b.Add(item)
		}
		in(10*time.Second + time.Millisecond)
		assert.Len(t, b.done(), 160)
	})
}

func TestEverythingIsDoneHoweverItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 8, func(item string) time.Duration { return time.Duration(len(item)) * time.Millisecond })
		for tenant := range 7 {
			for site := range 3 {
				go func() {
					for _, item := range many(fmt.Sprint(tenant), 50, fmt.Sprintf("@%d", site)) {
						b.Add(item)
					}
				}()
			}
		}
		in(time.Hour)
		assert.Len(t, b.done(), 7*50*3)
		assert.Zero(t, b.Len())
	})
}

func TestAnItemIsNeverWithTwoWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, always(time.Minute))
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
	for name, tc := range map[string]struct {
		add   func(*bench)
		began int
	}{
		"waits":                           {func(b *bench) { b.AddAfter("a/1", time.Hour) }, 0},
		"comes then":                      {func(b *bench) { b.AddAfter("a/1", time.Second) }, 1},
		"comes earlier for an event":      {func(b *bench) { b.AddAfter("a/1", time.Hour); b.Add("a/1") }, 1},
		"comes once":                      {func(b *bench) { b.AddAfter("a/1", time.Second); b.Add("a/1") }, 1},
		"comes once, whatever came first": {func(b *bench) { b.Add("a/1"); b.AddAfter("a/1", 0); b.AddRateLimited("a/1") }, 1},
		"retries":                         {func(b *bench) { b.AddRateLimited("a/1") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := run(t, 4, always(10*time.Second))
				busy := 4 + spare(4)
				for i := range busy {
					b.Add(fmt.Sprintf("busy%d/1", i))
				}
				in(time.Millisecond)
				require.Len(t, b.items(), busy)
				tc.add(b)
				in(time.Minute)
				assert.Len(t, b.items()[busy:], tc.began)
			})
		})
	}
}

func TestAnEventDuringTheWorkTakesThePlaceOfTheNextLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, always(time.Second))
		b.again = func(item string) {
			if len(b.items()) == 1 {
				b.Add(item)
				in(time.Millisecond)
				b.AddAfter(item, 10*time.Second)
			}
		}
		b.Add("a/1")
		in(time.Minute)
		assert.Len(t, b.items(), 2)
	})
}

func TestPrioritiesReachTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
		q := newQueue("", limiter, newOrder(4, placed, addressed, time.Now))
		defer func() { q.ShutDown(); synctest.Wait() }()
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-100)}, "a/1")
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(7)}, "b/1")
		synctest.Wait()
		item, priority, shutdown := q.GetWithPriority()
		assert.Equal(t, []any{"b/1", 7, false}, []any{item, priority, shutdown})
		item, priority, _ = q.GetWithPriority()
		assert.Equal(t, []any{"a/1", -100}, []any{item, priority})
	})
}

func TestRetriesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
		q := newQueue("", limiter, newOrder(4, placed, addressed, time.Now))
		defer func() { q.ShutDown(); synctest.Wait() }()
		q.Add("a/1")
		synctest.Wait()
		q.AddRateLimited("a/1")
		assert.Equal(t, 1, q.NumRequeues("a/1"))
		q.Forget("a/1")
		assert.Zero(t, q.NumRequeues("a/1"))
	})
}

func TestWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, 4, always(time.Second))
		for _, item := range many("a", 100, "") {
			b.Add(item)
		}
		in(time.Millisecond)
		b.ShutDown()
		in(time.Minute)
		assert.Len(t, b.done(), 4)
	})
}

func TestPlaces(t *testing.T) {
	request := func(namespace, name string) ctrl.Request {
		return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	}
	assert.Equal(t, place{tenant: "n"}, placeOf(request("n", "a"), nil))
	assert.Equal(t, place{tenant: "/a"}, placeOf(request("", "a"), nil))
	assert.Equal(t, place{tenant: "n", site: "of a"}, placeOf(request("n", "a"), named{}))
}

// named are sites that are named for their objects.
type named struct{}

func (named) Of(r ctrl.Request) string { return "of " + r.Name }

func (named) Address(site string) string { return site }

func TestOptions(t *testing.T) {
	for workers, want := range map[int]int{0: 1, 1: 1, 2: 2, 4: 5, 16: 20, 30: 37} {
		assert.Equal(t, want, Options(workers, nil).MaxConcurrentReconciles, "%d workers", workers)
	}
}
