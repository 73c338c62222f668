// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// TestATargetThatCannotBeOpenedIsTriedAtItsTime lets items of a Target that does not exist have one event after the other.
func TestATargetThatCannotBeOpenedIsTriedAtItsTime(t *testing.T) {
	d := newDesk(t, &scripted{})
	desk := &driftDesk{r: d.r, items: map[types.NamespacedName]*driftItem{}, sites: map[siteKey]*driftSite{}}
	site := desk.siteOf(siteKey{"ns", "absent", target.Actor{}})
	began := time.Now()
	require.Zero(t, site.untilOpening(began), "the first attempt is made at once")
	pause := site.open(t.Context())
	require.Positive(t, pause)
	site.retryAt = site.opened.Add(pause)
	for name, tc := range map[string]struct {
		after  time.Duration
		events func()
		waits  bool
	}{
		"an item has changed":    {0, func() { desk.mu.Lock(); site.enqueue(types.NamespacedName{Name: "item"}); desk.mu.Unlock() }, true},
		"its time has come":      {pause, func() {}, false},
		"its Target has changed": {minOpeningPause, func() { desk.targetChanged("ns", "absent") }, false},
		"and changes all along":  {minOpeningPause / 2, func() { desk.targetChanged("ns", "absent") }, true},
		"another has changed":    {minOpeningPause, func() { desk.targetChanged("ns", "other") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.events()
			t.Cleanup(func() { site.changed = false })
			assert.Equal(t, tc.waits, site.untilOpening(site.opened.Add(tc.after)) > 0)
		})
	}
}
