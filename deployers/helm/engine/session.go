// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

const (
	// chartsRoom is how many bytes of charts, and of indexes in which they are looked up, the calls for all tenants may have in memory together, beside what is
	// cached. Those for one tenant may have half of what the others leave: where they have nothing, the largest chart that there may be, which has 100 MiB of
	// files.
	chartsRoom = 256 << 20
	// chartsStep is the unit of claims in bytes.
	chartsStep = 1 << 20
	// smallChart is up to how many bytes a chart counts for nothing, as almost all do: nobody waits with it.
	smallChart = 1 << 20
	// patience is for how long a call waits for others. It may hold what one of them waits for, so it begins anew then.
	patience = 10 * time.Second
)

// ErrRecordUnreadable says that a release has a record that cannot be read. It helps nothing to try again before a person has cured it.
var ErrRecordUnreadable = records.ErrUnreadable

// ErrChartsBusy says that a chart could not be got, because other calls have large ones in memory. It helps to try again.
var ErrChartsBusy = errors.New("it is large, and other calls have as many charts in memory as the namespace, or the deployer, may have at a time")

// session is what one call for a DeployItem has in memory. It is not for use by several goroutines.
type session struct {
	tenant string
	charts *chartsInUse
	// reading is for what the call reads until that is a chart, used are the charts.
	reading *memory.Claim
	used    []*chartInUse
}

// sessionKey is the key of contexts for Session.
type sessionKey struct{}

// Session returns a context for one call for a DeployItem of a tenant, and the function that ends it. What the call reads of charts counts for the
// tenant to the end: while the tenant has as much in memory as allowed, it waits for other calls of the same tenant, and fails with ErrChartsBusy after ten seconds.
func (e *Engine) Session(ctx context.Context, tenant string) (context.Context, func()) {
	s := &session{tenant: tenant, charts: e.inUse, reading: e.inUse.room.Claim(tenant)}
	return context.WithValue(ctx, sessionKey{}, s), s.end
}

// sessionOf returns the session of a context, nil where it has none.
func sessionOf(ctx context.Context) *session {
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

// Reserve waits until the call that a context is for may have so many bytes in all in memory of what it reads: a chart, or what leads to one. When it has
// read less it says so in the same way, and 0 when it has let it go. The error is ErrChartsBusy or that of the context. Without a session nothing is counted.
func (e *Engine) Reserve(ctx context.Context, bytes int64) error {
	s := sessionOf(ctx)
	if s == nil {
		return nil
	}
	if bytes <= smallChart {
		bytes = 0
	}
	if s.reading.Fits(bytes) {
		s.reading.GiveBack(bytes)
		return nil
	}
	waits(ctx)
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch {
	case s.reading.Wait(waiting, bytes):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return ErrChartsBusy
}

// end gives back all that the call has.
func (s *session) end() {
	s.reading.End()
	s.charts.mu.Lock()
	defer s.charts.mu.Unlock()
	for _, one := range s.used {
		s.charts.leave(one)
	}
	s.used = nil
}

// chartsInUse are the charts that calls work with. What calls for one tenant have of the same chart is in memory once and counts once. It is safe for
// concurrent use.
type chartsInUse struct {
	room *memory.Room
	mu   sync.Mutex
	of   map[chartOf]*chartInUse
}

// chartOf identifies the content of a chart, for a tenant.
type chartOf struct{ tenant, key string }

// chartInUse is one chart.
type chartInUse struct {
	chartOf
	chart *Chart
	claim *memory.Claim
	// calls counts those that work with it.
	calls int
}

func newChartsInUse() *chartsInUse {
	return &chartsInUse{room: memory.NewRoom(chartsRoom, chartsStep), of: map[chartOf]*chartInUse{}}
}

// join returns the chart that other calls for the tenant work with, nil if there is none.
func (c *chartsInUse) join(s *session, key string) *Chart {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of[chartOf{s.tenant, key}]
	if one == nil {
		return nil
	}
	s.reading.GiveBack(0)
	s.use(one)
	return one.chart
}

// share returns the chart that the call works with from now on: what it has read, or the same chart of a call that was faster.
func (c *chartsInUse) share(s *session, key string, read *Chart) *Chart {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := chartOf{s.tenant, key}
	one := c.of[at]
	if one == nil {
		one = &chartInUse{chartOf: at, chart: read, claim: s.reading}
		c.of[at] = one
		s.reading = c.room.Claim(s.tenant)
	}
	s.reading.GiveBack(0)
	s.use(one)
	return one.chart
}

// use notes that the call works with a chart.
func (s *session) use(one *chartInUse) {
	if !slices.Contains(s.used, one) {
		s.used = append(s.used, one)
		one.calls++
	}
}

// leave gives back what a chart takes when the last call has ended that works with it.
func (c *chartsInUse) leave(one *chartInUse) {
	if one.calls--; one.calls == 0 {
		one.claim.End()
		delete(c.of, one.chartOf)
	}
}
