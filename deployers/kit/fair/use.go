// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"slices"
	"time"
)

// lately is how long the workers that a namespace had at once are kept free for it. A job is a chain of short reconciliations with gaps: at most
// instants its namespace neither works nor waits.
const lately = 3 * time.Second

// use knows how many workers each namespace had at once lately.
type use struct {
	now     func() time.Time
	tenants map[string]record
}

// record is how many workers a namespace has, and had at once lately.
type record struct {
	has int
	// had is what it had beyond that: the most first, then what it had since.
	had []peak
}

// peak is a number of workers that a namespace had at once, and more than it had since.
type peak struct {
	most int
	// at is the last instant at which it had them.
	at time.Time
}

func newUse(now func() time.Time) *use { return &use{now: now, tenants: map[string]record{}} }

// left returns how long what a namespace had stays free for it; not more than 0 where it does no more.
func (p peak) left(now time.Time) time.Duration { return p.at.Add(lately).Sub(now) }

// lately returns the most workers at once of late, and how long they stay free for it if it has fewer by now.
func (r record) lately(now time.Time) (most int, left time.Duration) {
	for _, p := range r.had {
		if left := p.left(now); left > 0 {
			return p.most, left
		}
	}
	return r.has, 0
}

// set takes note of how many workers a namespace has from now on.
func (u *use) set(tenant string, has int) {
	now, its := u.now(), u.tenants[tenant]
	its.had = slices.DeleteFunc(its.had, func(p peak) bool { return p.most <= has || p.left(now) <= 0 })
	if its.has > has {
		its.had = append(its.had, peak{most: its.has, at: now})
	}
	its.has = has
	u.tenants[tenant] = its
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
		most, _ := its.lately(now)
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

// part returns how many of some workers a namespace may have: what all others need is left to them, up to as many as it may have itself. At least it
// may have one. This is max-min fairness: who needs less than an equal part leaves the rest of it to others.
func part(tenant string, workers int, needs []need) int {
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
	for _, its := range u.tenants {
		if _, left := its.lately(now); left > 0 && (after == 0 || left < after) {
			after = left
		}
	}
	return after
}
