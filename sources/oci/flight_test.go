// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAPanicOfSharedWorkGoesOnInThoseWhoWait(t *testing.T) {
	flights := &flights{}
	broken := func(context.Context) error { panic("broken") }
	for range 2 {
		assert.Panics(t, func() { _ = flights.do(t.Context(), "key", time.Minute, broken) })
	}
	assert.NoError(t, flights.do(t.Context(), "key", time.Minute, func(context.Context) error { return nil }), "who comes later starts anew")
}
