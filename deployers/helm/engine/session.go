// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
)

const (
	// largeChart is from how many bytes on a chart, or an index in which it is looked up, is large. Hardly any is: Helm stores no release of one.
	largeChart = 16 << 20
	// largeCharts is how many calls have something large in memory at a time, of which each takes 100 MiB at most.
	largeCharts = 2
)

// ErrRecordUnreadable says that a release has a record that cannot be read. It helps nothing to try again before a person has cured it.
var ErrRecordUnreadable = records.ErrUnreadable

// session is one call for a DeployItem. It is not for use by several goroutines.
type session struct {
	slots *semaphore.Weighted
	large bool
}

// sessionKey is the key of contexts for Session.
type sessionKey struct{}

// Session returns a context for one call for a DeployItem, and the function that ends it.
func (e *Engine) Session(ctx context.Context) (context.Context, func()) {
	s := &session{slots: e.large}
	return context.WithValue(ctx, sessionKey{}, s), s.end
}

// Reserve waits until the call that a context is for may read so many bytes of a chart, or of what leads to one, into memory. The error is that of the
// context. Without a session nobody waits.
func (e *Engine) Reserve(ctx context.Context, bytes int64) error {
	s, ok := ctx.Value(sessionKey{}).(*session)
	if !ok || bytes < largeChart || s.large {
		return nil
	}
	if !s.slots.TryAcquire(1) {
		waits(ctx)
		if err := s.slots.Acquire(ctx, 1); err != nil {
			return context.Cause(ctx)
		}
	}
	s.large = true
	return nil
}

func (s *session) end() {
	if s.large {
		s.slots.Release(1)
	}
}
