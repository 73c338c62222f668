// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"cmp"
	"container/heap"
	"maps"
	"sync"
	"time"
)

// place says who an item belongs to.
type place struct {
	// tenant is the namespace of the item.
	tenant string
	// site is the name under which the item knows what its worker waits for, as the Target of a cluster; "" is nothing that others share.
	site string
}

// share is what waits at one place.
type share[T comparable] struct {
	place
	waiting entries[T]
	// at is the position in order.shares.
	at int
}

// entry is an item that waits.
type entry[T comparable] struct {
	item     T
	priority int
	// number is the order in which items came.
	number uint64
	share  *share[T]
	// at is the position in share.waiting.
	at int
}

// order decides which item is next. It is the storage of a work queue, which calls Push, Touch, Pop and Len one at a time.
type order[T comparable] struct {
	workers int
	placeOf func(T) place
	// addressOf tells what is known of a site now, which other names may lead to as well, as the address of a cluster.
	addressOf func(site string) string

	mu      sync.Mutex
	closed  bool
	number  uint64
	waiting map[T]*entry[T]
	shares  []*share[T]
	byPlace map[place]*share[T]
	// sharesOf is how many shares a namespace has.
	sharesOf map[string]int
	running  map[T]hold
	tenants  map[string]int
	use      *use
	// short reports whether processors are short; rests are those of namespaces, which may be over.
	short func() bool
	rests map[string]rest
	// priority has what waits, and what is to come back to a worker after the one that has it.
	priority map[T]int
}

// hold is what is known of an item that has a worker.
type hold struct {
	place
	priority int
	since    time.Time
}

func newOrder[T comparable](workers int, placeOf func(T) place, addressOf func(site string) string, now func() time.Time) *order[T] {
	return &order[T]{
		workers: workers, placeOf: placeOf, addressOf: addressOf, waiting: map[T]*entry[T]{}, byPlace: map[place]*share[T]{}, sharesOf: map[string]int{}, running: map[T]hold{},
		tenants: map[string]int{}, use: newUse(now), short: func() bool { return false }, rests: map[string]rest{}, priority: map[T]int{},
	}
}

// quarter is how many workers a namespace or a site may have while others wait.
func quarter(workers int) int { return max(workers/4, 1) }

// spare is how many workers there are beyond those that everybody may have.
func spare(workers int) int { return workers / 4 }

// prefer raises the priority that an item gets, or has.
func (o *order[T]) prefer(item T, priority int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, has := o.priority[item]; !has || priority > known {
		o.priority[item] = priority
	}
}

// maxSites is how many sites of a namespace are told apart while items wait: all shares are looked at for each item of anybody, and a namespace may name
// Targets without end. Its items of further sites wait as if nothing was known of theirs.
const maxSites = 256

// shareOf returns the share of a place, a new one where there is none.
func (o *order[T]) shareOf(where place) *share[T] {
	if o.byPlace[where] == nil && o.sharesOf[where.tenant] >= maxSites {
		where.site = ""
	}
	s := o.byPlace[where]
	if s == nil {
		s = &share[T]{place: where, at: len(o.shares)}
		o.byPlace[where], o.shares = s, append(o.shares, s)
		o.sharesOf[where.tenant]++
	}
	return s
}

// Push adds an item.
func (o *order[T]) Push(item T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.shareOf(o.placeOf(item))
	o.number++
	e := &entry[T]{item: item, priority: o.priority[item], number: o.number, share: s}
	o.waiting[item] = e
	heap.Push(&s.waiting, e)
}

// Touch takes note of a higher priority of an item that waits. It goes behind those that had it before.
func (o *order[T]) Touch(item T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.waiting[item]
	if e == nil || o.priority[item] <= e.priority {
		return
	}
	o.number++
	e.priority, e.number = o.priority[item], o.number
	heap.Fix(&e.share.waiting, e.at)
}

// Len returns how many items wait, 0 when nobody gets a worker any more.
func (o *order[T]) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0
	}
	return len(o.waiting)
}

// Pop returns the next item, which has a worker from then on. Who calls it knows that one was due. If none is any more, because another item came since,
// the address of a site is known or a namespace has begun to rest, it returns one all the same.
func (o *order[T]) Pop() T {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := cmp.Or(o.next(false), o.shares[0])
	e := heap.Pop(&s.waiting).(*entry[T])
	if len(s.waiting) == 0 {
		o.drop(s)
	}
	delete(o.waiting, e.item)
	if o.priority[e.item] <= e.priority {
		delete(o.priority, e.item)
	}
	o.running[e.item] = hold{place: s.place, priority: e.priority, since: o.use.now()}
	o.tenants[s.tenant]++
	o.use.set(s.tenant, o.tenants)
	return e.item
}

// held returns the priority of an item that has a worker.
func (o *order[T]) held(item T) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.running[item].priority
}

// release takes the worker from an item, and returns for how long its namespace rests from now on.
func (o *order[T]) release(item T) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	where, has := o.running[item]
	if !has {
		return 0
	}
	delete(o.running, item)
	lower(o.tenants, where.tenant)
	o.use.set(where.tenant, o.tenants)
	if !o.short() {
		return 0
	}
	now := o.use.now()
	rests := o.use.rest(where.tenant, now.Sub(where.since))
	if rests == 0 {
		return 0
	}
	maps.DeleteFunc(o.rests, func(_ string, r rest) bool { return r.isOver(now) })
	o.rests[where.tenant] = o.rests[where.tenant].extended(now, rests)
	return o.rests[where.tenant].until.Sub(now)
}

// has reports whether an item waits, or comes back to a worker after the one that has it.
func (o *order[T]) has(item T) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, has := o.priority[item]
	return has
}

// isDue reports whether there is an item that may have a worker now.
func (o *order[T]) isDue() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.closed && o.next(true) != nil
}

// opens returns after what time to look again whether an item may have a worker, as long as that can change without an event; 0 where it cannot.
func (o *order[T]) opens() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.waiting) == 0 {
		return 0
	}
	return o.use.changes()
}

// close lets no item have a worker any more.
func (o *order[T]) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

func (o *order[T]) drop(s *share[T]) {
	last := o.shares[len(o.shares)-1]
	o.shares[s.at], last.at = last, s.at
	o.shares[len(o.shares)-1] = nil
	o.shares = o.shares[:len(o.shares)-1]
	delete(o.byPlace, s.place)
	lower(o.sharesOf, s.tenant)
}

// next returns the share whose turn it is, nil when none may have a worker. Any that may have one will do for who only asks whether there is one.
func (o *order[T]) next(anyWillDo bool) *share[T] {
	var free, crowded turn[T]
	isAnyHeld := false
	crowds, standings := o.crowds(), o.standings()
	for _, s := range o.shares {
		its := o.rank(s, crowds, standings[s.tenant])
		isCrowd := its.over >= ofSite
		switch {
		case its.isHeld:
			isAnyHeld = isAnyHeld || !isCrowd
		case its.mayWork && isCrowd && its.has > 0:
			crowded.yield(s, &its)
		case its.mayWork:
			free.yield(s, &its)
		}
		if anyWillDo && free.share != nil {
			break
		}
	}
	if crowded.share != nil && !isAnyHeld { // the workers that a namespace is kept from are not for the crowd of a slow site
		free.yield(crowded.share, &crowded.rank)
	}
	return free.share
}

// turn is a share that may have a worker; none at first.
type turn[T comparable] struct {
	share *share[T]
	rank  rank
}

// yield makes it the turn of a share with some rank if that comes first.
func (t *turn[T]) yield(s *share[T], its *rank) {
	if t.share == nil || its.before(&t.rank) {
		t.share, t.rank = s, *its
	}
}

// standing is how many workers a namespace has, and how many it may have beside what others had lately.
type standing struct{ has, part int }

// standings returns those of all namespaces with workers.
func (o *order[T]) standings() map[string]standing {
	all, needs := make(map[string]standing, len(o.tenants)), o.use.needs(o.workers)
	for tenant, has := range o.tenants {
		all[tenant] = standing{has: has, part: o.use.part(tenant, o.workers, needs)}
	}
	return all
}

// crowds returns how many workers each site has, by its address of now: the first items of a cluster get workers before its address is known.
func (o *order[T]) crowds() map[string]int {
	counts := map[string]int{}
	for _, held := range o.running {
		if held.site != "" {
			counts[o.addressOf(held.site)]++
		}
	}
	return counts
}

// rank is what decides when it is the turn of a share.
type rank struct {
	// mayWork says that it may have one more worker. The spare ones are for those that have none: all of them for namespaces, half of them for
	// sites, because one namespace may have as many sites as it likes.
	mayWork bool
	// isHeld says that the namespace rests, or has its part of the workers, and as many more as are spare for a site where that has none.
	isHeld bool
	// over is 0 below a quarter of the workers, 1 where the namespace has that, and from ofSite on where the site has.
	over     int
	priority int
	// has is how many workers the namespace has.
	has    int
	number uint64
}

// ofSite is what a site with a quarter of the workers adds to over.
const ofSite = 2

func (o *order[T]) rank(s *share[T], crowds map[string]int, tenant standing) rank {
	first, site := s.waiting[0], 0
	r := rank{has: tenant.has, priority: first.priority, number: first.number}
	if r.has >= quarter(o.workers) {
		r.over++
	}
	if s.site != "" {
		if site = crowds[o.addressOf(s.site)]; site >= quarter(o.workers) {
			r.over += ofSite
		}
	}
	workers, part := o.workers, tenant.part
	if s.site != "" && site == 0 {
		workers, part = workers+spare(o.workers)/2, part+spare(o.workers)/2
	}
	isResting := !o.rests[s.tenant].isOver(o.use.now())
	r.isHeld = isResting || r.has > 0 && r.has >= part
	r.mayWork = !isResting && (r.has == 0 || !r.isHeld && len(o.running) < workers)
	return r
}

// before reports whether the turn of r comes before that of another: below a quarter of the workers before above it, then the higher priority,
// then who has fewer workers, then who came first.
func (r *rank) before(other *rank) bool {
	return cmp.Or(cmp.Compare(r.over, other.over), cmp.Compare(other.priority, r.priority), cmp.Compare(r.has, other.has),
		cmp.Compare(r.number, other.number)) < 0
}

func lower(counts map[string]int, key string) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// entries is a heap: the highest priority first, then who came first.
type entries[T comparable] []*entry[T]

// Len returns how many there are.
func (e entries[T]) Len() int { return len(e) }

// Less reports whether i goes before j.
func (e entries[T]) Less(i, j int) bool {
	if e[i].priority != e[j].priority {
		return e[i].priority > e[j].priority
	}
	return e[i].number < e[j].number
}

// Swap exchanges two.
func (e entries[T]) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].at, e[j].at = i, j
}

// Push adds one at the end.
func (e *entries[T]) Push(x any) {
	added := x.(*entry[T])
	added.at = len(*e)
	*e = append(*e, added)
}

// Pop takes the last one.
func (e *entries[T]) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = nil
	*e = (*e)[:len(*e)-1]
	return last
}
