// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"math"
	"time"
)

const (
	// restTimes is for how many times as long as it had a worker a namespace rests, and longestRest for how long at most: who only waits for slow
	// servers takes little from others.
	restTimes   = 2
	longestRest = 500 * time.Millisecond
	// restOver is how many times as much as others a namespace has to have worked lately before it rests.
	restOver = 2
)

// rest is a time in which a namespace gets no worker.
type rest struct{ since, until time.Time }

// isOver reports whether it has ended.
func (r rest) isOver(now time.Time) bool { return !r.until.After(now) }

// extended returns the rest when the namespace is to rest for a time from now on. It gets no longer than one may be, however many items end meanwhile.
func (r rest) extended(now time.Time, by time.Duration) rest {
	if r.isOver(now) {
		return rest{since: now, until: now.Add(by)}
	}
	until := now.Add(by)
	if latest := r.since.Add(longestRest); until.After(latest) {
		until = latest
	}
	if until.After(r.until) {
		r.until = until
	}
	return r
}

// load is worker time that counts less the longer it is ago: a third after the time of lately.
type load struct {
	seconds float64
	at      time.Time
}

// until returns the load at an instant, up to which somebody had some workers.
func (l load) until(now time.Time, has int) load {
	left := math.Exp(-now.Sub(l.at).Seconds() / lately.Seconds())
	return load{seconds: l.seconds*left + float64(has)*lately.Seconds()*(1-left), at: now}
}

// rest returns for how long a namespace rests that had a worker for a time, where processors are short; 0 where it worked about as much as others
// lately, or where there are none. Others count by what they worked: those that do little do not make rest who works as much as another one.
func (u *use) rest(name string, held time.Duration) time.Duration {
	now := u.now()
	own, sum, squares := 0.0, 0.0, 0.0
	for tenant, its := range u.tenants {
		seconds := its.load.until(now, its.own.has).seconds
		most, _ := its.own.lately(now)
		switch {
		case tenant == name:
			own = seconds
		case most > 0:
			sum += seconds
			squares += seconds * seconds
		}
	}
	if own*sum <= restOver*squares {
		return 0
	}
	return min(restTimes*held, longestRest)
}
