// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestJitterStaysWithinItsPercentage(t *testing.T) {
	shortest, longest := time.Hour, time.Hour
	for i := range 1000 {
		spread := Jitter(5).Spread(time.Hour, "object/job-"+strconv.Itoa(i))
		shortest, longest = min(shortest, spread), max(longest, spread)
	}
	assert.GreaterOrEqual(t, shortest, 57*time.Minute)
	assert.LessOrEqual(t, longest, 63*time.Minute)
	assert.Less(t, shortest, 57*time.Minute+15*time.Second, "the range is used up")
	assert.Greater(t, longest, 63*time.Minute-15*time.Second, "the range is used up")
}

func TestJitterIsTheSameForTheSameSeed(t *testing.T) {
	assert.Equal(t, Jitter(5).Spread(time.Hour, "object/job"), Jitter(5).Spread(time.Hour, "object/job"))
	assert.NotEqual(t, Jitter(5).Spread(time.Hour, "object/job-1"), Jitter(5).Spread(time.Hour, "object/job-2"))
}

func TestJitterOfNothing(t *testing.T) {
	assert.Equal(t, time.Hour, Jitter(0).Spread(time.Hour, "object"))
	assert.Zero(t, Jitter(5).Spread(0, "object"))
}

func TestBackoffSpreadsObjects(t *testing.T) {
	problem := errors.New("problem")
	delays := func(backoff *Backoff, name string) []time.Duration {
		var all []time.Duration
		for range 3 {
			all = append(all, backoff.After(types.NamespacedName{Name: name}, problem))
			time.Sleep(all[len(all)-1])
		}
		return all
	}
	synctest.Test(t, func(t *testing.T) {
		exact := delays(NewBackoff(time.Second, time.Minute), "a")
		assert.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, exact)
		spread := delays(NewBackoff(time.Second, time.Minute).WithJitter(10), "a")
		for i := range spread {
			assert.InDelta(t, exact[i], spread[i], float64(exact[i])/10)
		}
		assert.Equal(t, spread, delays(NewBackoff(time.Second, time.Minute).WithJitter(10), "a"), "a restart computes the same delays")
		assert.NotEqual(t, spread, delays(NewBackoff(time.Second, time.Minute).WithJitter(10), "b"))
	})
}

// TestEventsMakeNoBackoffLonger lets events bring an object that fails, between the planned attempts.
func TestEventsMakeNoBackoffLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backoff, key, problem := NewBackoff(4*time.Second, time.Hour), types.NamespacedName{Name: "a"}, errors.New("problem")
		require.Equal(t, 4*time.Second, backoff.After(key, problem))
		for left := 4 * time.Second; left > 0; left -= time.Second {
			for range 3 {
				require.Equal(t, left, backoff.After(key, problem))
			}
			require.Equal(t, 4*time.Second, backoff.After(types.NamespacedName{Name: fmt.Sprint(left)}, problem), "each object has its own")
			time.Sleep(time.Second)
		}
		require.Equal(t, 8*time.Second, backoff.After(key, problem))
		backoff.Forget(key)
		require.Equal(t, 4*time.Second, backoff.After(key, problem))
	})
}

func TestAnotherAttemptIsLoggedUnlessItIsExpected(t *testing.T) {
	gone := schema.GroupResource{Resource: "installations"}
	for name, tc := range map[string]struct {
		err    error
		after  time.Duration
		logged bool
	}{
		"a problem":          {errors.New("problem"), time.Second, true},
		"a lost race":        {apierrors.NewConflict(gone, "a", nil), transientDelay, false},
		"an object that was": {apierrors.NewNotFound(gone, "a"), time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
			result := NewBackoff(time.Second, time.Minute).Later(log.IntoContext(t.Context(), logger), types.NamespacedName{Name: "a"}, tc.err)
			assert.Equal(t, tc.after, result.RequeueAfter)
			assert.Equal(t, tc.logged, len(lines) > 0, lines)
		})
	}
}

func TestDoubled(t *testing.T) {
	for times, want := range map[int]time.Duration{
		-1: 250 * time.Millisecond, 0: 250 * time.Millisecond, 1: 500 * time.Millisecond, 6: 16 * time.Second, 7: 30 * time.Second, 1 << 40: 30 * time.Second,
	} {
		assert.Equal(t, want, Doubled(250*time.Millisecond, 30*time.Second, times))
	}
	assert.Equal(t, time.Minute, Doubled(time.Minute, time.Minute, 3))
	assert.Equal(t, time.Duration(math.MaxInt64), Doubled(time.Hour, math.MaxInt64, 1000))
}
