// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLargeBlueprintsOfANamespaceWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{}
		first, err := c.enter(t.Context(), "busy")
		require.NoError(t, err)
		first.shrink(loadingBytes)
		_, err = c.enter(t.Context(), "busy")
		require.NoError(t, err)
		began := time.Now()
		_, err = c.enter(t.Context(), "busy")
		assert.ErrorIs(t, err, errCrowded)
		assert.Equal(t, crowdPatience, time.Since(began))

		go func() {
			time.Sleep(time.Second)
			first.give()
		}()
		began = time.Now()
		_, err = c.enter(t.Context(), "busy")
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(began))

		began = time.Now()
		_, err = c.enter(t.Context(), "calm")
		require.NoError(t, err)
		assert.Zero(t, time.Since(began), "the other namespace waits for nobody")
	})
}

func TestSmallBlueprintsHoldNothing(t *testing.T) {
	c := &crowd{}
	for range 100 {
		s, err := c.enter(t.Context(), "n")
		require.NoError(t, err)
		s.shrink(smallBlueprint)
	}
}

func TestNothingIsLeftOfACrowd(t *testing.T) {
	c := &crowd{}
	s, err := c.enter(t.Context(), "n")
	require.NoError(t, err)
	s.shrink(1 << 20)
	s.give()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	full, err := c.enter(t.Context(), "n")
	require.NoError(t, err)
	more, err := c.enter(t.Context(), "n")
	require.NoError(t, err)
	_, err = c.enter(ended, "n")
	assert.ErrorIs(t, err, context.Canceled)
	full.give()
	more.give()
	(*stay)(nil).give()
	assert.Empty(t, c.namespaces)
}
