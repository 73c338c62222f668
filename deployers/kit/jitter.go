// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"hash/fnv"
	"math"
	"time"
)

// Jitter spreads intervals, so that objects of one interval do not all come at the same instant. Its value is the largest deviation in
// percent, from 0 to 99.
type Jitter uint8

// Spread returns d, longer or shorter by at most the percentage of the Jitter. The same seed always gives the same result, so that an
// instant computed again after a restart is the same.
func (j Jitter) Spread(d time.Duration, seed string) time.Duration {
	if j == 0 || d <= 0 {
		return d
	}
	return d + j.part(d, 2*fraction(seed)-1)
}

// Delay returns d, longer by at most the percentage of the Jitter, and otherwise as Spread does.
func (j Jitter) Delay(d time.Duration, seed string) time.Duration {
	const longest = math.MaxInt64 / 2 // more cannot be made longer
	if j == 0 || d <= 0 || d > longest {
		return d
	}
	return d + j.part(d, fraction(seed))
}

func (j Jitter) part(d time.Duration, of float64) time.Duration {
	return time.Duration(float64(d) * of * float64(j) / 100)
}

// fraction returns a number from 0 to 1 for a seed.
func fraction(seed string) float64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(seed))
	const steps = 1 << 21
	return float64(mix(hash.Sum64())%(steps+1)) / steps
}

// mix makes every bit of a hash depend on all others: seeds that differ in their last character only are to be far apart.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
