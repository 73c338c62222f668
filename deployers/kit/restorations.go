// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// ReasonFinalizerRestored is the reason of the event about a finalizer that somebody has removed and that is back.
const ReasonFinalizerRestored = "FinalizerRestored"

// NewRestorations returns the pauses between putting back, object by object, what somebody removes again and again: 15 seconds at first, at most ten
// minutes, and the first again after twenty minutes in peace. IDs are the keys of objects as text; who uses it calls Reset when an object is gone.
func NewRestorations() *flowcontrol.Backoff {
	return flowcontrol.NewBackOff(15*time.Second, 10*time.Minute)
}
