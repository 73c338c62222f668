// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// Delays after a lost race or a request that the API server could not serve now.
const (
	transientDelay    = 20 * time.Millisecond
	maxTransientDelay = 5 * time.Second
)

// Doubled returns the shortest pause, doubled a number of times, up to the longest.
func Doubled(shortest, longest time.Duration, times int) time.Duration {
	pause := shortest
	for range times {
		if pause > longest/2 {
			return longest
		}
		pause *= 2
	}
	return min(pause, longest)
}

// Sleep waits for a time, or for the end of ctx.
func Sleep(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Backoff says when to try again after a failure, by object.
type Backoff struct {
	failures  workqueue.TypedRateLimiter[types.NamespacedName]
	transient workqueue.TypedRateLimiter[types.NamespacedName]
	jitter    Jitter

	mu sync.Mutex
	// due says when the next attempt after a failure is planned.
	due map[types.NamespacedName]time.Time
}

// NewBackoff returns a Backoff whose delay after failures grows from shortest to longest.
func NewBackoff(shortest, longest time.Duration) *Backoff {
	return &Backoff{
		failures:  workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](shortest, longest),
		transient: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](transientDelay, maxTransientDelay),
		due:       map[types.NamespacedName]time.Time{},
	}
}

// WithJitter spreads the delays of different objects, and returns the Backoff.
func (b *Backoff) WithJitter(jitter Jitter) *Backoff {
	b.jitter = jitter
	return b
}

// After returns the delay after one more failure. An attempt that an event brings before the planned one does not make the delay longer: events come in
// bursts, and what was wrong may be cured by now.
func (b *Backoff) After(key types.NamespacedName, err error) time.Duration {
	if protocol.IsTransient(err) {
		return b.next(b.transient, key)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if left := b.due[key].Sub(now); left > 0 {
		return left
	}
	delay := b.next(b.failures, key)
	b.due[key] = now.Add(delay)
	return delay
}

// next returns the delay after one more failure of a kind.
func (b *Backoff) next(limiter workqueue.TypedRateLimiter[types.NamespacedName], key types.NamespacedName) time.Duration {
	attempt := strconv.Itoa(limiter.NumRequeues(key))
	return b.jitter.Spread(limiter.When(key), key.String()+"/"+attempt)
}

// Later plans another attempt after an error that no status shows. The delay is that of the Backoff: controller-runtime drops the one of a result
// that comes with an error. So the error is logged here, unless it is one that the next attempt is expected to be free of.
func (b *Backoff) Later(ctx context.Context, key types.NamespacedName, err error) reconcile.Result {
	delay := b.After(key, err)
	if !protocol.IsTransient(err) && !apierrors.IsNotFound(err) {
		log.FromContext(ctx).Error(err, "it is tried again", "after", delay)
	}
	return reconcile.Result{RequeueAfter: delay}
}

// Forget begins from the shortest delay again.
func (b *Backoff) Forget(key types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures.Forget(key)
	b.transient.Forget(key)
	delete(b.due, key)
}

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

// Share returns a part of d, which is chosen by the seed.
func Share(d time.Duration, seed string) time.Duration {
	return time.Duration(float64(d) * fraction(seed))
}

func (j Jitter) part(d time.Duration, of float64) time.Duration {
	return time.Duration(float64(d) * of * float64(j) / 100)
}

// fraction returns a number from 0 to 1 for a seed. Seeds that differ in their last character only are far apart.
func fraction(seed string) float64 {
	sum := sha256.Sum256([]byte(seed))
	return float64(binary.BigEndian.Uint32(sum[:])) / math.MaxUint32
}

// ReasonFinalizerRestored is the reason of the event about a finalizer that somebody has removed and that is back.
const ReasonFinalizerRestored = "FinalizerRestored"

// NewRestorations returns the pauses between putting back, object by object, what somebody removes again and again: 15 seconds at first, at most ten
// minutes, and the first again after twenty minutes in peace. IDs are the keys of objects as text; who uses it calls Reset when an object is gone.
func NewRestorations() *flowcontrol.Backoff {
	return flowcontrol.NewBackOff(15*time.Second, 10*time.Minute)
}
