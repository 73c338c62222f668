// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// after answers when a time has passed, unless the request ends before.
func after(takes time.Duration, answer error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(takes):
			return answer
		}
	}
}

func TestTheTimeForAnAnswerFollowsTheWay(t *testing.T) {
	refused := apierrors.NewUnauthorized("no")
	for name, c := range map[string]struct {
		requests []func(context.Context) error
		limit    time.Duration
	}{
		"nothing is known":            {nil, 5 * time.Second},
		"quick answers":               {[]func(context.Context) error{after(time.Millisecond, nil)}, 5 * time.Second},
		"a slow answer":               {[]func(context.Context) error{after(3*time.Second, nil)}, 9 * time.Second},
		"a slow refusal":              {[]func(context.Context) error{after(3*time.Second, refused)}, 9 * time.Second},
		"a very slow answer":          {[]func(context.Context) error{after(4500*time.Millisecond, nil)}, 12 * time.Second},
		"one answer did not come":     {[]func(context.Context) error{after(time.Hour, nil)}, 10 * time.Second},
		"many answers did not come":   {[]func(context.Context) error{after(time.Hour, nil), after(time.Hour, nil), after(time.Hour, nil)}, 12 * time.Second},
		"a broken connection":         {[]func(context.Context) error{after(0, errors.New("reset"))}, 5 * time.Second},
		"an answer after some misses": {[]func(context.Context) error{after(time.Hour, nil), after(time.Millisecond, nil)}, 5 * time.Second},
		"a slow one after a miss":     {[]func(context.Context) error{after(8*time.Second, nil), after(8*time.Second, nil)}, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tempo := &tempo{}
				for _, send := range c.requests {
					_ = tempo.within(t.Context(), send)
				}
				assert.Equal(t, c.limit, tempo.limit())
			})
		})
	}
}

func TestWhoeverStopsTheRequestTeachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tempo := &tempo{}
		require.ErrorIs(t, tempo.within(ctx, after(time.Hour, nil)), context.DeadlineExceeded)
		assert.Equal(t, minAnswer, tempo.limit())
	})
}
