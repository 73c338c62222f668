// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import "time"

// Alarm is when to look again without an event.
type Alarm struct {
	// Requeue is after how long; 0 is never.
	Requeue time.Duration
}

// Wake asks for another look after d unless an earlier one is planned.
func (a *Alarm) Wake(d time.Duration) {
	if d > 0 && (a.Requeue == 0 || d < a.Requeue) {
		a.Requeue = d
	}
}
