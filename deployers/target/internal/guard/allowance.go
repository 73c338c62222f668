// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"sync"
)

const (
	// MaxTogether is what all large answers that a process reads at a time may cost together, in bytes. It is the most that one may have.
	MaxTogether = 32 << 20
	// smallAnswer is the cost up to which an answer does not count, in bytes.
	smallAnswer = 1 << 20
	// smallEvent is the same for an event of a watch, of which a process has thousands.
	smallEvent = 64 << 10
	// valueCost and mapCost are what a value, and an object beyond its text, cost in JSON, in bytes: decoded they take much more than the one or two bytes that
	// they may have there.
	valueCost, mapCost = 8, 64
)

// allowance bounds what the large answers cost together that a process reads at a time. Nobody waits for it, since whoever sends slowly would have
// others wait. When it is exceeded, the site whose answers cost most loses the largest of them.
type allowance struct {
	limit int64

	mu    sync.Mutex
	Total int64
	sites map[string]map[*body]struct{}
}

// NewAllowance returns an allowance of so much in all.
func NewAllowance(limit int64) *allowance {
	return &allowance{limit: limit, sites: map[string]map[*body]struct{}{}}
}

// spend notes what an answer has cost so far, and cancels answers as long as all cost too much together.
func (a *allowance) spend(b *body, cost int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if b.lost {
		return
	}
	a.Total += cost - b.cost
	b.cost = cost
	if a.sites[b.site] == nil {
		a.sites[b.site] = map[*body]struct{}{}
	}
	a.sites[b.site][b] = struct{}{}
	for a.Total > a.limit {
		victim := a.largest()
		reason := ErrCrowded
		if victim.cost == a.Total { // it is too much alone, so another attempt is no use
			reason = ErrLarge
		}
		victim.lost = true
		a.drop(victim)
		victim.cancel(reason)
	}
}

// giveBack forgets what an answer costs.
func (a *allowance) giveBack(b *body) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(b)
}

// end forgets what an answer costs for good: whoever still reads it while it is closed counts for nothing.
func (a *allowance) end(b *body) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b.lost = true
	a.drop(b)
}

func (a *allowance) drop(b *body) {
	if _, counts := a.sites[b.site][b]; !counts {
		return
	}
	a.Total -= b.cost
	b.cost = 0
	delete(a.sites[b.site], b)
	if len(a.sites[b.site]) == 0 {
		delete(a.sites, b.site)
	}
}

// largest returns the largest answer of the site whose answers cost most.
func (a *allowance) largest() (found *body) {
	most := int64(0)
	for _, bodies := range a.sites {
		sum, largest := int64(0), (*body)(nil)
		for b := range bodies {
			if sum += b.cost; largest == nil || b.cost > largest.cost {
				largest = b
			}
		}
		if sum > most {
			most, found = sum, largest
		}
	}
	return found
}

// costOf returns what a part of an answer costs: its bytes, and in JSON the values in it.
func costOf(part []byte, isJSON bool) int64 {
	cost := int64(len(part))
	if !isJSON {
		return cost
	}
	values := bytes.Count(part, []byte(",")) + bytes.Count(part, []byte("["))
	return cost + valueCost*int64(values) + mapCost*int64(bytes.Count(part, []byte("{")))
}
