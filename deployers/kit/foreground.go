// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// InForeground reports whether the garbage collector deletes the dependents of an object, as kubectl delete --cascade=foreground asks it to: at
// once, level by level, and in no order.
func InForeground(obj client.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// IsOrphaning reports whether the garbage collector is taking an object out of the owners of its dependents, as kubectl delete --cascade=orphan asks
// it to. Until that is done nobody knows which of them are to stay.
func IsOrphaning(obj client.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

// IsHeldBack reports whether a child that is deleted in the foreground has to wait until its Installation is ready to go, which may wait for others
// that import from it. The Installation gives leave by the annotation with its deletion job.
func IsHeldBack(child client.Object, parent *v1alpha1.Installation) bool {
	if parent == nil || parent.DeletionTimestamp.IsZero() || !InForeground(child) || !slices.Contains(parent.Finalizers, v1alpha1.Finalizer) {
		return false
	}
	return !parent.Status.Phase.IsDeletion() || child.GetAnnotations()[v1alpha1.JobAnnotation] != parent.Status.JobID
}
