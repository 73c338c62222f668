// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

func TestPausesBetweenRestorationsGrow(t *testing.T) {
	object, now := types.NamespacedName{Name: "object"}, time.Now()
	rs := &Restorations{}
	assert.Zero(t, rs.Left(object, now))
	var pauses []time.Duration
	for range 8 {
		rs.Note(object, now)
		pause := rs.Left(object, now)
		pauses, now = append(pauses, pause), now.Add(pause)
	}
	assert.Equal(t, []time.Duration{15e9, 30e9, 60e9, 120e9, 240e9, 480e9, 600e9, 600e9}, pauses)
	assert.Zero(t, rs.Left(types.NamespacedName{Name: "other"}, now))
}

func TestPausesBetweenRestorationsShrinkAfterLongPeace(t *testing.T) {
	object, now := types.NamespacedName{Name: "object"}, time.Now()
	rs := &Restorations{}
	for range 8 {
		rs.Note(object, now)
	}
	later := now.Add(2 * maxRestorationPause)
	assert.Zero(t, rs.Left(object, later))
	rs.Note(object, later)
	assert.Equal(t, minRestorationPause, rs.Left(object, later))
	rs.Forget(object)
	assert.Zero(t, rs.Left(object, later))
}
