// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"math"
	"time"
)

const (
	// restTimes is for how many times as long as it had a worker a namespace rests, and longestRest for how long at most: what has a worker for long mostly
	// waits for a server, and uses little processor time.
	restTimes   = 2
	longestRest = 500 * time.Millisecond
	// restOver is how many times the load of the others a namespace has to have before it rests.
	restOver = 2
)

// rest is a time in which a namespace gets no worker.
type rest struct{ since, until time.Time }

// isOver reports whether it has ended.
func (r rest) isOver(now time.Time) bool { return !r.until.After(now) }

// extended returns the rest when another item of the namespace has ended, for which it is to rest by some time from now on. All of it takes no longer than
// longestRest, however many items end meanwhile.
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

// load is the time for which somebody had workers, in seconds of one worker. It decays exponentially: after the time of lately a third is left.
type load struct {
	seconds float64
	at      time.Time
}

// until returns the load at a later instant, if somebody had so many workers up to then.
func (l load) until(now time.Time, has int) load {
	left := math.Exp(-now.Sub(l.at).Seconds() / lately.Seconds())
	return load{seconds: l.seconds*left + float64(has)*lately.Seconds()*(1-left), at: now}
}

// rest returns for how long a namespace is to rest where processors are short, after it held a worker for a time. It is 0 where its load is at most
// restOver times that of the others, or where no other had a worker lately. The load of the others is their average, weighed by their loads: many namespaces
// with little work do not slow one that works as much as another.
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
