// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
)

// pagesOf reads a list of objects, of which so many fit into an answer.
func pagesOf(objects, fit int64) (limits []int64, listed int64, err error) {
	err = Pages(100, func(limit int64, next string) (string, error) {
		limits = append(limits, limit)
		from, _ := strconv.ParseInt(next, 10, 64)
		if min(limit, objects-from) > fit {
			return "", fmt.Errorf("read: %w", guard.ErrLarge)
		}
		if listed += min(limit, objects-from); listed >= objects {
			return "", nil
		}
		return strconv.FormatInt(from+limit, 10), nil
	})
	return limits, listed, err
}

func TestPagesThatAreTooLargeAreReadInParts(t *testing.T) {
	for name, tc := range map[string]struct {
		objects, fit int64
		limits       []int64
		err          error
	}{
		"one":                   {500, 500, []int64{500}, nil},
		"several":               {1200, 500, []int64{500, 500, 500}, nil},
		"too large":             {200, 70, []int64{500, 62, 124, 15, 30, 60, 120}, nil},
		"an object too large":   {2, 0, []int64{500, 62, 7, 1}, guard.ErrLarge},
		"a list without an end": {1 << 40, 500, nil, ErrTooManyPages},
	} {
		t.Run(name, func(t *testing.T) {
			limits, listed, err := pagesOf(tc.objects, tc.fit)
			require.ErrorIs(t, err, tc.err)
			if tc.limits != nil {
				assert.Equal(t, tc.limits, limits)
			}
			if err == nil {
				assert.Equal(t, tc.objects, listed)
			}
		})
	}
}
