// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"math"
	"time"
)

const (
	// restTimes is for how many times as long as it had a worker a namespace rests, and longestRest for how long at most: who only waits for a slow
	// server takes little from others.
	restTimes   = 2
	longestRest = 500 * time.Millisecond
	// restOver is how many times as much as others on average a namespace has to have worked lately before it rests.
	restOver = 2
)

// load is worker time that counts less the longer it is ago: a third after the time of lately.
type load struct {
	seconds float64
	at      time.Time
}

func (l load) value(now time.Time) float64 {
	return l.seconds * math.Exp(-now.Sub(l.at).Seconds()/lately.Seconds())
}

func (l load) plus(seconds float64, now time.Time) load {
	return load{seconds: l.value(now) + seconds, at: now}
}

// worked takes note of for how long a namespace had a worker, and returns for how long it rests where processors are short; 0 where it worked about as
// much as others lately, or where there are none.
func (u *use) worked(name string, held time.Duration) time.Duration {
	now, its := u.now(), u.tenants[name]
	its.load, u.load = its.load.plus(held.Seconds(), now), u.load.plus(held.Seconds(), now)
	u.tenants[name] = its
	others, own := float64(len(u.tenants)-1), its.load.value(now)
	if others == 0 || own*others <= restOver*(u.load.value(now)-own) {
		return 0
	}
	return min(restTimes*held, longestRest)
}

// forget drops what is known of a namespace that had no worker lately.
func (u *use) forget(name string, now time.Time) {
	u.load = u.load.plus(-u.tenants[name].load.value(now), now)
	delete(u.tenants, name)
}
