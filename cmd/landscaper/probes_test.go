// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadyOnlyWhileCachesAreSynced(t *testing.T) {
	var synced atomic.Bool
	r := &readiness{synced: func(context.Context) bool { return synced.Load() }}
	probe := func() error { return r.check(httptest.NewRequest("GET", "/readyz", nil)) }
	synced.Store(true)
	require.Error(t, probe(), "the caches of the start are not synced")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Start(ctx) }()
	require.Eventually(t, func() bool { return probe() == nil }, time.Minute, time.Millisecond)
	synced.Store(false)
	require.Error(t, probe(), "a cache that came later is not synced")
	synced.Store(true)
	require.NoError(t, probe())
	stop()
	require.NoError(t, <-ended)
	assert.Error(t, probe(), "the process stops")
}
