// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestALostRecordIsNotedUntilAJobSucceeds(t *testing.T) {
	var seen []bool
	fails := true
	d := newDesk(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		seen = append(seen, HasLostRecord(item.DeployItem))
		if fails {
			return Outcome{}, Stall("Test", "Test", "it is broken")
		}
		return Outcome{Done: true}, nil
	}})
	d.change(func(item *v1alpha1.DeployItem) {
		conditions.MarkTrue(item, v1alpha1.RecordLostCondition, "StatusRemoved", "lost")
	})

	d.trigger("1")
	d.pass()
	require.Equal(t, v1alpha1.PhaseFailed, d.item().Status.Phase)
	assert.True(t, HasLostRecord(d.item()))

	fails = false
	d.trigger("2")
	d.pass()
	require.Equal(t, v1alpha1.PhaseSucceeded, d.item().Status.Phase)
	assert.False(t, HasLostRecord(d.item()))
	assert.Equal(t, []bool{true, true}, seen)
	d.requireSteady()
}
