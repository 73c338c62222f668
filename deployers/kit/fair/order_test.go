// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// items are "tenant/name" or "tenant/name@site".
func placed(item string) place {
	item, site, _ := strings.Cut(item, "@")
	tenant, _, _ := strings.Cut(item, "/")
	return place{tenant: tenant, site: site}
}

// addressed leads names that end with "'" to the site without it.
func addressed(site string) string { return strings.TrimRight(site, "'") }

// push queues items; those that end with "-" have a low priority.
func push(o *order[string], items ...string) {
	for _, item := range items {
		priority := 0
		if strings.HasSuffix(item, "-") {
			priority = -100
		}
		o.prefer(item, priority)
		o.Push(item)
	}
}

// many returns items of a tenant.
func many(tenant string, n int, site string) (items []string) {
	for i := range n {
		items = append(items, fmt.Sprintf("%s/%d%s", tenant, i, site))
	}
	return items
}

// sited returns items of a tenant, each with a site of its own.
func sited(tenant string, n int) (items []string) {
	for i := range n {
		items = append(items, fmt.Sprintf("%s/%d@%d", tenant, i, i))
	}
	return items
}

// start gives workers to items until nobody may have one, and returns how many each tenant got.
func start(o *order[string]) map[string]int {
	got := map[string]int{}
	for o.isDue() {
		got[placed(o.Pop()).tenant]++
	}
	return got
}

func TestAClusterIsOneBeforeAndAfterItsAddressIsKnown(t *testing.T) {
	known := map[string]string{}
	o := newOrder(16, placed, func(site string) string { return cmp.Or(known[site], site) }, time.Now)
	push(o, many("a", 10, "@target")...)
	start(o)
	known["target"] = "address"
	push(o, many("b", 100, "@target")...)
	assert.Equal(t, map[string]int{"b": 6}, start(o))
	push(o, many("b", 1, "@other")...)
	known["other"] = "address"
	assert.False(t, o.isDue(), "one of the spare workers")
}

// TestFewSitesOfANamespaceAreToldApart has items for more Targets than anybody looks at.
func TestFewSitesOfANamespaceAreToldApart(t *testing.T) {
	o := newOrder(4, placed, addressed, time.Now)
	push(o, sited("hostile", 4*maxSites)...)
	push(o, sited("calm", 10)...)
	assert.Len(t, o.shares, maxSites+1+10)
	for range 4*maxSites + 10 {
		o.release(o.Pop())
	}
	assert.Empty(t, o.shares)
	assert.Empty(t, o.sharesOf)
	assert.Zero(t, o.Len())
}

func TestWhoGetsTheWorkers(t *testing.T) {
	for name, tc := range map[string]struct {
		first, then []string
		got         map[string]int
	}{
		"one tenant alone gets all but the spare": {first: many("a", 100, ""), got: map[string]int{"a": 16}},
		"two share":                                    {first: append(many("a", 100, ""), many("b", 100, "")...), got: map[string]int{"a": 8, "b": 8}},
		"who comes late gets a spare one":              {first: many("a", 100, ""), then: many("b", 100, ""), got: map[string]int{"a": 16, "b": 1}},
		"few items of one beside many of another":      {first: append(many("a", 100, ""), many("b", 2, "")...), got: map[string]int{"a": 14, "b": 2}},
		"nobody idles while one cluster has all items": {first: many("a", 100, "@x"), got: map[string]int{"a": 16}},
		"a late cluster of the same tenant gets one":   {first: many("a", 100, "@x"), then: many("a", 5, "@y"), got: map[string]int{"a": 17}},
		"another name of that cluster gets none":       {first: many("a", 100, "@x"), then: many("a", 5, "@x'"), got: map[string]int{"a": 16}},
		"many clusters of one tenant leave spare ones": {first: sited("a", 100), then: many("b", 100, ""), got: map[string]int{"a": 18, "b": 1}},
		"a cluster of four tenants leaves three quarters": {
			first: append(append(append(many("a", 50, "@x"), many("b", 50, "@x")...), many("c", 50, "@x")...), many("d", 50, "")...),
			got:   map[string]int{"a": 2, "b": 1, "c": 1, "d": 12},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrder(16, placed, addressed, time.Now)
			push(o, tc.first...)
			got := map[string]int{}
			if tc.then != nil {
				got = start(o)
				push(o, tc.then...)
			}
			for tenant, n := range start(o) {
				got[tenant] += n
			}
			assert.Equal(t, tc.got, got)
		})
	}
}

func TestWhatIsNext(t *testing.T) {
	for name, tc := range map[string]struct {
		queued, order []string
	}{
		"who came first":                              {queued: []string{"a/1", "b/1", "c/1"}, order: []string{"a/1", "b/1", "c/1"}},
		"who has fewer workers":                       {queued: []string{"a/1", "a/2", "b/1"}, order: []string{"a/1", "b/1", "a/2"}},
		"a high priority":                             {queued: []string{"a/1-", "b/1-", "a/2"}, order: []string{"a/2", "b/1-", "a/1-"}},
		"not beyond a quarter, whatever the priority": {queued: []string{"a/1", "a/2", "b/1-"}, order: []string{"a/1", "b/1-", "a/2"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrder(4, placed, addressed, time.Now)
			push(o, tc.queued...)
			var order []string
			for o.isDue() {
				order = append(order, o.Pop())
			}
			assert.Equal(t, tc.order, order)
		})
	}
}

func TestAHigherPriorityCountsForWhatWaitsAlready(t *testing.T) {
	o := newOrder(4, placed, addressed, time.Now)
	push(o, "a/1-", "b/1-")
	o.prefer("b/1-", 0)
	o.Touch("b/1-")
	assert.Equal(t, "b/1-", o.Pop())
	assert.Equal(t, 0, o.held("b/1-"))
	assert.Equal(t, "a/1-", o.Pop())
	assert.Equal(t, -100, o.held("a/1-"))
}

func TestNothingIsKeptOfWhatIsDone(t *testing.T) {
	o := newOrder(4, placed, addressed, time.Now)
	push(o, many("a", 10, "@x")...)
	push(o, many("b", 10, "@y")...)
	for o.isDue() {
		item := o.Pop()
		o.release(item)
		o.release(item)
	}
	assert.Zero(t, o.Len())
	for what, left := range map[string]int{
		"waiting": len(o.waiting), "shares": len(o.shares), "byPlace": len(o.byPlace), "running": len(o.running), "tenants": len(o.tenants),
		"priority": len(o.priority),
	} {
		assert.Zero(t, left, what)
	}
}

func TestNobodyGetsAWorkerAfterTheEnd(t *testing.T) {
	o := newOrder(4, placed, addressed, time.Now)
	push(o, "a/1")
	o.close()
	assert.False(t, o.isDue())
	assert.Zero(t, o.Len())
}

func BenchmarkNext(b *testing.B) {
	for _, tenants := range []int{1, 100, 5000} {
		b.Run(fmt.Sprintf("%d namespaces", tenants), func(b *testing.B) {
			o := newOrder(16, placed, addressed, time.Now)
			for i := range tenants {
				push(o, many(fmt.Sprint(i), 20000/tenants, "")...)
			}
			for b.Loop() {
				item := o.Pop()
				o.release(item)
				push(o, item)
			}
		})
	}
}
