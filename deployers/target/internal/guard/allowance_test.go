// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answerFrom is an answer of a site that an allowance counts, and what its cancellation said.
func answerFrom(a *allowance, site string) (*body, func() error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &body{ctx: ctx, cancel: cancel, together: a, site: site}, func() error { return context.Cause(ctx) }
}

func TestT04TheSiteThatCostsMostLoses(t *testing.T) {
	a := NewAllowance(100)
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
	require.ErrorIs(t, toSecond(), ErrCrowded)
	a.spend(second, 200)
	assert.Equal(t, int64(71), a.Total, "who has lost does not count")
	for _, b := range []*body{honest, first, second} {
		a.giveBack(b)
		a.giveBack(b)
	}
	assert.Zero(t, a.Total)
	assert.Empty(t, a.sites)
}

func TestT04AnAnswerThatIsTooLargeAloneIsNotTriedAgain(t *testing.T) {
	a := NewAllowance(100)
	b, told := answerFrom(a, "hostile")
	a.spend(b, 101)
	require.ErrorIs(t, told(), ErrLarge)
	assert.Zero(t, a.Total)
}

func TestT04ValuesCostMoreThanTheirText(t *testing.T) {
	assert.Equal(t, int64(5), costOf([]byte("{},[]"), false))
	assert.Equal(t, int64(5+2*valueCost+mapCost), costOf([]byte("{},[]"), true))
}

// Whoever watches closes an answer while it is read.
func TestT04AnAnswerThatHasEndedCountsNoMore(t *testing.T) {
	a := NewAllowance(100)
	b, _ := answerFrom(a, "hostile")
	b.ReadCloser, b.isJSON = io.NopCloser(strings.NewReader("")), true
	a.spend(b, 10)
	require.NoError(t, b.Close())
	b.count([]byte("[[[["))
	assert.Zero(t, a.Total)
	assert.Empty(t, a.sites)
}
