// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import "time"

// lately is how long the workers that a namespace had at once are kept free for it. A job is a chain of short reconciliations with gaps: at most
// instants its namespace neither works nor waits.
const lately = 3 * time.Second

// use knows how many workers each namespace had at once lately.
type use struct {
	now     func() time.Time
	tenants map[string]peak
}

// peak is the most workers that a namespace had at once.
type peak struct {
	has, most int
	// at is the last instant at which it had the most.
	at time.Time
}

func newUse(now func() time.Time) *use { return &use{now: now, tenants: map[string]peak{}} }

// lately returns the most workers at once of late.
func (p peak) lately(now time.Time) int {
	if now.Sub(p.at) < lately {
		return p.most
	}
	return p.has
}

// set takes note of how many workers a namespace has from now on.
func (u *use) set(tenant string, has int) {
	now := u.now()
	its := u.tenants[tenant]
	if most := its.lately(now); has >= most || its.has == most {
		its.most, its.at = max(has, most), now
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
		most := its.lately(now)
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
		if its.lately(now) == its.has {
			continue
		}
		if ends := its.at.Add(lately).Sub(now); after == 0 || ends < after {
			after = ends
		}
	}
	return after
}
