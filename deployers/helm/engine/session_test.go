// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// largestChart is what the files of the largest chart take.
const largestChart = 128 << 20

// unread is an engine that looks into no charts.
func unread(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Options{Unread: true})
	require.NoError(t, err)
	return e
}

// begin begins a call for a tenant.
func begin(t *testing.T, e *Engine, tenant string) (context.Context, func()) {
	t.Helper()
	ctx, end := e.Session(OnWait(t.Context(), func() { t.Errorf("a call for %s waits", tenant) }), tenant)
	t.Cleanup(end)
	return ctx, end
}

func TestLargeChartsOfATenantWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, waiting := unread(t), 0
		first, endFirst := begin(t, e, "busy")
		require.NoError(t, e.Reserve(first, largestChart), "one chart always has room")
		ctx, cancel := context.WithCancel(t.Context())
		second, endSecond := e.Session(OnWait(ctx, func() { waiting++ }), "busy")
		defer endSecond()
		require.NoError(t, e.Reserve(second, smallChart))
		require.Zero(t, waiting, "nobody waits with a small chart")
		began := time.Now()
		require.ErrorIs(t, e.Reserve(second, smallChart+1), ErrChartsBusy)
		assert.Equal(t, patience, time.Since(began))
		assert.Equal(t, 1, waiting)

		calm, _ := begin(t, e, "calm")
		require.NoError(t, e.Reserve(calm, largestChart/2), "another tenant waits for nobody")

		time.AfterFunc(time.Second, endFirst)
		require.NoError(t, e.Reserve(second, 2*smallChart))
		time.AfterFunc(time.Second, cancel)
		assert.ErrorIs(t, e.Reserve(second, largestChart), context.Canceled)
	})
}

// TestWhatIsLetGoGivesRoom has a call read less than it had reserved, and then nothing.
func TestWhatIsLetGoGivesRoom(t *testing.T) {
	e := unread(t)
	ctx, end := begin(t, e, "n")
	for _, bytes := range []int64{8 << 20, 3 << 20, 0, 2 << 20} {
		require.NoError(t, e.Reserve(ctx, bytes))
		assert.Equal(t, bytes, e.inUse.room.Held())
	}
	end()
	assert.Zero(t, e.inUse.room.Held())
}

// TestAChartCountsOnceForATenant loads a chart in each of its forms in several calls.
func TestAChartCountsOnceForATenant(t *testing.T) {
	content := make([]byte, 3<<20-1<<10)
	files := fstest.MapFS{"Chart.yaml": {Data: []byte(plainChart)}, "large": {Data: content}}
	for name, load := range map[string]func(*Engine, context.Context, string) (*Chart, error){
		"archive": func(e *Engine, ctx context.Context, owner string) (*Chart, error) { return e.Load(ctx, owner, content) },
		"directory": func(e *Engine, ctx context.Context, owner string) (*Chart, error) {
			return e.LoadDirectory(ctx, owner, files, "key")
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := unread(t)
			first, endFirst := begin(t, e, "n")
			chart, err := load(e, first, "n")
			require.NoError(t, err)
			assert.EqualValues(t, 3<<20, e.inUse.room.Held())

			second, endSecond := begin(t, e, "n")
			again, err := load(e, second, "n")
			require.NoError(t, err)
			assert.Same(t, chart, again)
			assert.EqualValues(t, 3<<20, e.inUse.room.Held(), "both calls have the same")

			other, endOther := begin(t, e, "other")
			_, err = load(e, other, "other")
			require.NoError(t, err)
			assert.EqualValues(t, 6<<20, e.inUse.room.Held(), "another tenant has no part in it")

			endFirst()
			endOther()
			assert.EqualValues(t, 3<<20, e.inUse.room.Held(), "a call works with it still")
			endSecond()
			assert.Zero(t, e.inUse.room.Held())
			assert.Empty(t, e.inUse.of)
		})
	}
}

// TestACachedChartNeedsRoomToo has calls keep what the cache may let go.
func TestACachedChartNeedsRoomToo(t *testing.T) {
	e := unread(t)
	loading, endLoading := begin(t, e, "n")
	chart, err := e.Load(loading, "n", make([]byte, 2<<20))
	require.NoError(t, err)
	endLoading()
	busy, endBusy := begin(t, e, "n")
	require.NoError(t, e.Reserve(busy, largestChart))

	ctx, cancel := context.WithCancel(t.Context())
	call, end := e.Session(OnWait(ctx, cancel), "n")
	defer end()
	_, err = e.Cached(call, "n", chart.Digest)
	require.ErrorIs(t, err, context.Canceled)
	endBusy()
	cached, err := e.Cached(call, "n", chart.Digest)
	require.NoError(t, err)
	assert.Same(t, chart, cached)
}

// TestChartsOfATenantPushOutTheirOwn keeps what others use in the cache.
func TestChartsOfATenantPushOutTheirOwn(t *testing.T) {
	e := unread(t)
	kept, err := e.Load(t.Context(), "calm", []byte("small"))
	require.NoError(t, err)
	for i := range 4 {
		_, err = e.Load(t.Context(), "busy", append(make([]byte, cacheSize/2), byte(i)))
		require.NoError(t, err)
	}
	_, cached := e.sizeOf("calm", kept.Digest)
	assert.True(t, cached)
}
