// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// endOtherType ends the running job of an item whose type somebody has changed, and reports whether there was one: the deployers of the former type leave
// the item alone from then on, also in the middle of a job, and of the new type there may be none.
func (r *Reconciler) endOtherType(ctx context.Context, item *v1alpha1.DeployItem) (ended bool, err error) {
	former := kit.FormerType(item)
	if former == "" || item.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		return false, nil
	}
	failure := &kit.Failure{Kind: kit.Stalled, Operation: "reconcilePrivate", Reason: "TypeChanged", Err: kit.TypeChanged(item, former)}
	item.Status.ObservedGeneration = item.Generation
	return true, r.fail(ctx, item, failure)
}
