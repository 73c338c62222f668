// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
)

// ReasonFinalizerRestored is the reason of the event about a finalizer that somebody has removed and that is back.
const ReasonFinalizerRestored = "FinalizerRestored"

// NewRestorations returns the pauses between putting back, object by object, what somebody removes again and again: 15 seconds at first, at most ten
// minutes, and the first again after twenty minutes in peace. IDs are the keys of objects as text; who uses it calls Reset when an object is gone.
func NewRestorations() *flowcontrol.Backoff {
	return flowcontrol.NewBackOff(15*time.Second, 10*time.Minute)
}

// ForgetDurations drops the durations that were recorded for an object that is gone. One that never had a finalizer of ours goes without a last
// reconciliation, and what is kept of it would stay as long as the process. Object is an empty one of its kind, which it changes.
func ForgetDurations(ctx context.Context, metrics controller.Metrics, object conditions.Getter, key types.NamespacedName) {
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(0, 0)})
	metrics.RecordDuration(ctx, object, time.Time{})
}
