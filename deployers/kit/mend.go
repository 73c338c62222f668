// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// WriteItemStatus writes the status of a DeployItem. Written learns of the write. It fails with a conflict if the item changed since it
// was read. Deployers of others write into the same status: conditions that the API server would refuse go, and times of errors that they left
// empty are set to now, because the API server stores them but refuses them when they come back.
func WriteItemStatus(ctx context.Context, c client.Client, item *v1alpha1.DeployItem, now time.Time, written *Consistency) error {
	KeepValidConditions(item)
	mend(&item.Status, now)
	if err := updateStatus(ctx, c, item); err != nil {
		return err
	}
	written.Wrote(item)
	return nil
}

// mend sets the times of errors that are required and empty: an empty time is encoded as null, which the schema forbids.
func mend(status *v1alpha1.DeployItemStatus, now time.Time) {
	set := func(at *metav1.Time) {
		if at.IsZero() {
			*at = metav1.NewTime(now)
		}
	}
	for _, each := range append([]*v1alpha1.Error{status.LastError, status.FirstError}, status.LastErrors...) {
		if each != nil {
			set(&each.LastTransitionTime)
			set(&each.LastUpdateTime)
		}
	}
}
