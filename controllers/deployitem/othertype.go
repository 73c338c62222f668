// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// endOtherType ends the running job of an item whose type somebody has changed, and reports whether there was one: the deployers of the former type leave
// the item alone from then on, also in the middle of a job, and of the new type there may be none.
func (r *Reconciler) endOtherType(ctx context.Context, item *v1alpha1.DeployItem) (ended bool, err error) {
	former := protocol.FormerType(item)
	if former == "" || item.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		return false, nil
	}
	failure := &protocol.Failure{Kind: protocol.Stalled, Operation: "reconcilePrivate", Reason: "TypeChanged", Err: protocol.TypeChanged(item, former)}
	item.Status.ObservedGeneration = item.Generation
	return true, r.fail(ctx, item, failure)
}

// leaveOtherType lets an item in deletion go that somebody has given another type, once it is asked to leave what was deployed, and reports whether it
// has: a deployer of the new type may live nowhere, and nothing of the target is needed. It waits for no job, because a deployer would have to give one.
func (r *Reconciler) leaveOtherType(ctx context.Context, item *v1alpha1.DeployItem) (left bool, err error) {
	isAsked := !item.DeletionTimestamp.IsZero() && item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] == "true"
	if !isAsked || protocol.FormerType(item) == "" || item.Annotations[v1alpha1.IgnoreAnnotation] == "true" || !slices.Contains(item.Finalizers, v1alpha1.Finalizer) {
		return false, nil
	}
	err = protocol.PatchMetadata(ctx, r.Client, item, protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return true, nil // the event of what came in between follows
	case err == nil:
		r.items.Wrote(item)
	}
	return true, err
}
