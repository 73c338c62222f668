// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// answerFrom is an answer of a site that an allowance counts, and what its cancellation said.
func answerFrom(a *allowance, site string) (*body, func() error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &body{ctx: ctx, cancel: cancel, together: a, site: site}, func() error { return context.Cause(ctx) }
}

func TestT04TheSiteThatCostsMostLoses(t *testing.T) {
	a := newAllowance(100)
	honest, toHonest := answerFrom(a, "honest")
	first, toFirst := answerFrom(a, "hostile")
	second, toSecond := answerFrom(a, "hostile")
	a.spend(honest, 40)
	a.spend(first, 25)
	a.spend(second, 30)
	require.NoError(t, toSecond())
	a.spend(honest, 46)
	require.NoError(t, toHonest(), "55 is more than 46")
	require.NoError(t, toFirst(), "one is enough")
	require.ErrorIs(t, toSecond(), errCrowded)
	a.spend(second, 200)
	assert.Equal(t, int64(71), a.total, "who has lost does not count")
	for _, b := range []*body{honest, first, second} {
		a.giveBack(b)
		a.giveBack(b)
	}
	assert.Zero(t, a.total)
	assert.Empty(t, a.sites)
}

func TestT04AnAnswerThatIsTooLargeAloneIsNotTriedAgain(t *testing.T) {
	a := newAllowance(100)
	b, told := answerFrom(a, "hostile")
	a.spend(b, 101)
	require.ErrorIs(t, told(), errLarge)
	assert.Zero(t, a.total)
}

func TestT04ValuesCostMoreThanTheirText(t *testing.T) {
	assert.Equal(t, int64(5), costOf([]byte("{},[]"), false))
	assert.Equal(t, int64(5+3*valueCost), costOf([]byte("{},[]"), true))
}

// TestT04LargeAnswersTogether has one answer more than the process may read at a time, each of which is allowed alone. All end after one is lost.
func TestT04LargeAnswersTogether(t *testing.T) {
	const each, fit = 4 << 20, 3
	block := strings.Repeat("v", 1<<20)
	lost := make(chan struct{})
	lose := sync.OnceFunc(func() { close(lost) })
	together := newAllowance(fit*each + each/2)
	cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		answerJSON(w, `{"kind": "ConfigMap", "apiVersion": "v1", "data": {"x": "`)
		for range each >> 20 {
			_, _ = io.WriteString(w, block)
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			lose()
		case <-lost:
			_, _ = io.WriteString(w, `"}}`)
		}
	}, func(l *limits) { l.together, l.body = together, time.Minute })
	var ended errgroup.Group
	var crowded atomic.Int64
	for range fit + 1 {
		ended.Go(func() error {
			err := getConfigMap(t.Context(), cluster)
			if errors.Is(err, errCrowded) {
				crowded.Add(1)
				return nil
			}
			return err
		})
	}
	require.NoError(t, ended.Wait())
	assert.Equal(t, int64(1), crowded.Load())
	assert.Zero(t, together.total)
	require.NoError(t, getConfigMap(t.Context(), cluster), "later nothing is in the way")
}
