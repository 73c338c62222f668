// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"slices"
	"time"
)

// lately is for how long as many workers stay free for others as they had at once. A job is a chain of short reconciliations with gaps: at most instants
// its namespace neither works nor waits.
const lately = 3 * time.Second

// use knows how many workers namespaces had at once lately.
type use struct {
	now     func() time.Time
	tenants map[string]tenant
	// all is what all namespaces had together.
	all record
}

// tenant is what is known of one namespace.
type tenant struct {
	own record
	// beside is what all others had together; where the namespace has no worker, only until it had its last one.
	beside record
	last   time.Time
	// load is for how long it had workers, up to the last instant at which their number changed.
	load load
}

// record is how many workers somebody has, and had at once lately.
type record struct {
	has int
	// had is what it had beyond that: the most first, then what it had since.
	had []peak
}

// peak is a number of workers that somebody had at once, and more than it had since.
type peak struct {
	most int
	// at is the last instant at which it had them.
	at time.Time
}

func newUse(now func() time.Time) *use { return &use{now: now, tenants: map[string]tenant{}} }

// left returns how long that counts; not more than 0 where it does no more.
func (p peak) left(now time.Time) time.Duration { return p.at.Add(lately).Sub(now) }

// lately returns the most workers at once of late, and how long they count if it has fewer by now.
func (r record) lately(now time.Time) (most int, left time.Duration) {
	for _, p := range r.had {
		if left := p.left(now); left > 0 {
			return p.most, left
		}
	}
	return r.has, 0
}

// with returns the record when the number of workers is another from now on. It may overwrite what r refers to.
func (r record) with(has int, now time.Time) record {
	if r.has > has {
		r = r.and(peak{most: r.has, at: now})
	}
	r.had = slices.DeleteFunc(r.had, func(p peak) bool { return p.most <= has || p.left(now) <= 0 })
	r.has = has
	return r
}

// and returns the record with a peak that ended after those that it has. It may overwrite what r refers to.
func (r record) and(later peak) record {
	r.had = append(slices.DeleteFunc(r.had, func(p peak) bool { return p.most <= later.most }), later)
	return r
}

// set takes note of how many workers a namespace has from now on. Running are those of all namespaces with workers, with the new number of that one.
func (u *use) set(name string, running map[string]int) {
	now, total := u.now(), 0
	for _, has := range running {
		total += has
	}
	u.tenants[name] = u.back(u.tenants[name])
	for other, has := range running {
		its := u.tenants[other]
		its.beside = its.beside.with(total-has, now)
		u.tenants[other] = its
	}
	its := u.tenants[name]
	its.load = its.load.until(now, its.own.has)
	its.own, its.last = its.own.with(running[name], now), now
	u.tenants[name] = its
	u.all = u.all.with(total, now)
}

// back returns what is known of a namespace, with what all others had while it had no worker: that was what all had.
func (u *use) back(its tenant) tenant {
	if its.own.has > 0 {
		return its
	}
	its.beside = its.beside.with(0, its.last)
	for _, p := range u.all.had {
		if p.at.After(its.last) {
			its.beside = its.beside.and(p)
		}
	}
	its.beside.has = u.all.has
	return its
}

// need is what is left to a namespace: as many workers as it had at once lately.
type need struct {
	tenant string
	most   int
}

// needs returns those of all namespaces, or of one more than there are workers. It forgets namespaces without need that it meets.
func (u *use) needs(workers int) (all []need) {
	now := u.now()
	for tenant, its := range u.tenants {
		most, _ := its.own.lately(now)
		if most == 0 {
			delete(u.tenants, tenant)
			continue
		}
		if all = append(all, need{tenant: tenant, most: most}); len(all) > workers {
			break
		}
	}
	return all
}

// part returns how many of some workers a namespace with workers may have: all that the others never had together lately, its equal part where that is
// more, and at least one.
func (u *use) part(name string, workers int, needs []need) int {
	together, _ := u.tenants[name].beside.lately(u.now())
	return max(equalPart(name, workers, needs), workers-together)
}

// equalPart returns what a namespace may have of some workers if all others get what they need, up to as many as it may have itself; at least one.
// This is max-min fairness: who needs less than an equal part leaves the rest of it to others.
func equalPart(tenant string, workers int, needs []need) int {
	level := 0
	for {
		left, sharing := workers, 1
		for _, other := range needs {
			switch {
			case other.tenant == tenant:
			case other.most <= level:
				left -= other.most
			default:
				sharing++
			}
		}
		next := left / sharing
		if next <= level {
			return max(level, 1)
		}
		level = next
	}
}

// changes returns after what time the part of some namespace may be larger by itself, 0 where that is never.
func (u *use) changes() time.Duration {
	now, after := u.now(), time.Duration(0)
	sooner := func(left time.Duration) {
		if left > 0 && (after == 0 || left < after) {
			after = left
		}
	}
	for _, its := range u.tenants {
		for _, r := range []record{its.own, its.beside} {
			_, left := r.lately(now)
			sooner(left)
		}
	}
	_, left := u.all.lately(now) // of which a namespace that comes back takes over a part
	sooner(left)
	return after
}
