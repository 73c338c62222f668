// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ControllerOf returns the reference to the object of our API group that controls an object, if it is of the given kind; else nil. Kinds of
// other groups may have the same name.
func ControllerOf(obj metav1.Object, kind string) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != kind || schema.FromAPIVersionAndKind(owner.APIVersion, kind).Group != v1alpha1.GroupName {
		return nil
	}
	return owner
}

// WakeController returns the handler that wakes the object of our API group that controls another one, if it is of the given kind. That of
// controller-runtime asks with each event whether the kind has namespaces, which allocates several KiB; ours all have.
func WakeController(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		owner := ControllerOf(obj, kind)
		if owner == nil {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name}}}
	})
}

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
