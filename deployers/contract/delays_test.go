// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRetryDelaysAreThoseOfTheOptions(t *testing.T) {
	for name, c := range map[string]struct {
		shortest, longest time.Duration
		want              []time.Duration
	}{
		"short":     {time.Second, 2 * time.Second, []time.Duration{time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second}},
		"long":      {4 * time.Second, time.Minute, []time.Duration{4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second}},
		"one alone": {time.Minute, time.Minute, []time.Duration{time.Minute, time.Minute, time.Minute, time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []time.Time
				d := newDesk(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
					calls = append(calls, time.Now())
					return Outcome{}, errors.New("the quota is used up")
				}})
				d.options.MinRetryDelay, d.options.MaxRetryDelay = c.shortest, c.longest
				d.restart()
				d.trigger("1")
				for len(calls) <= len(c.want) {
					time.Sleep(d.pass().RequeueAfter)
				}
				for i, want := range c.want {
					assert.Equal(t, want, calls[i+1].Sub(calls[i]))
				}
			})
		})
	}
}
