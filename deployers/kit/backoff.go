// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// Delays after a lost race or a request that the API server could not serve now.
const (
	transientDelay    = 20 * time.Millisecond
	maxTransientDelay = 5 * time.Second
)

// Backoff says when to try again after a failure, by object.
type Backoff struct {
	failures  workqueue.TypedRateLimiter[types.NamespacedName]
	transient workqueue.TypedRateLimiter[types.NamespacedName]
	jitter    Jitter
}

// NewBackoff returns a Backoff whose delay after failures grows from shortest to longest.
func NewBackoff(shortest, longest time.Duration) *Backoff {
	return &Backoff{
		failures:  workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](shortest, longest),
		transient: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](transientDelay, maxTransientDelay),
	}
}

// WithJitter spreads the delays of different objects, and returns the Backoff.
func (b *Backoff) WithJitter(jitter Jitter) *Backoff {
	b.jitter = jitter
	return b
}

// After returns the delay after one more failure.
func (b *Backoff) After(key types.NamespacedName, err error) time.Duration {
	limiter := b.failures
	if IsTransient(err) {
		limiter = b.transient
	}
	attempt := strconv.Itoa(limiter.NumRequeues(key))
	return b.jitter.Spread(limiter.When(key), key.String()+"/"+attempt)
}

// Forget begins from the shortest delay again.
func (b *Backoff) Forget(key types.NamespacedName) {
	b.failures.Forget(key)
	b.transient.Forget(key)
}
