// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGateQuantile(t *testing.T) {
	buckets := map[float64]float64{1: 0, 2: 10, 3: 10, 4: 18, math.Inf(1): 20}
	for name, test := range map[string]struct{ share, want float64 }{
		"in the middle of a bucket":   {.25, 1.5},
		"at the end of a bucket":      {.5, 2},
		"behind an empty bucket":      {.7, 3.5},
		"above the last finite bound": {.99, 4},
	} {
		t.Run(name, func(t *testing.T) {
			assert.InDelta(t, test.want, quantile(buckets, 20, test.share), 1e-9)
		})
	}
}
