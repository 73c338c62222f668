// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// reasonExportOwnedByOther says that another Installation exports an object of the same name.
const reasonExportOwnedByOther = "ExportOwnedByOther"

// lostToRival reports whether the last job of an Installation failed because another one exports the same.
func lostToRival(inst *v1alpha1.Installation) bool {
	last := inst.Status.LastError
	return inst.Status.Phase == v1alpha1.PhaseFailed && inst.Status.IsIdle() && last != nil && last.Reason == reasonExportOwnedByOther
}

// exportsAreFree reports whether the last job failed because of somebody else's exports, and now nobody holds any of those that the
// Installation wants to write.
func (r *Reconciler) exportsAreFree(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	if !lostToRival(inst) {
		return false, nil
	}
	for _, key := range exportsOf(inst) {
		owner, err := r.rival(ctx, inst, key)
		if err != nil || owner != nil {
			return false, err
		}
	}
	return true, nil
}

// exportClaim is what an Installation may do about an export whose object another one owns.
type exportClaim int

const (
	// refused: the owner exports it.
	refused exportClaim = iota
	// early: the owner is about to get another spec in the job of the common parent.
	early
	// inherited: the owner exports it no more.
	inherited
	// abandoned: the owner is gone, and its object is about to be collected.
	abandoned
)

// claimOf returns what an Installation may do about an export, by a key of the export index, that another one owns; nil is one that is gone. What
// the owner exports is what its present spec says, except that parents write the specs of a job one after the other.
func claimOf(inst, parent, owner *v1alpha1.Installation, key string) exportClaim {
	switch {
	case owner == nil:
		return abandoned
	case !slices.Contains(exportsOf(owner), key):
		return inherited
	case parent != nil && parentOf(owner) == parent.Name && isAt(parent, inst.Status.JobID) && !given(owner, inst.Status.JobID):
		return early
	}
	return refused
}

// isAt reports whether a job is at work.
func isAt(inst *v1alpha1.Installation, job string) bool {
	return inst.Status.JobID == job && !inst.Status.IsIdle()
}

// rival returns the other Installation that holds an export, by a key of the export index, as the cache has it; nil when there is none.
func (r *Reconciler) rival(ctx context.Context, inst *v1alpha1.Installation, key string) (*metav1.OwnerReference, error) {
	object, name := objectOfKey(key)
	err := r.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: name}, object)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	owner := otherOwner(object, inst)
	if owner == nil || !object.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	other := &v1alpha1.Installation{}
	err = r.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: owner.Name}, other)
	if apierrors.IsNotFound(err) || err == nil && (other.UID != owner.UID || !slices.Contains(exportsOf(other), key)) {
		return nil, nil
	}
	return owner, err
}

// losers returns the Installations that wait for one of some exports.
func (r *Reconciler) losers(ctx context.Context, namespace string, keys ...string) []reconcile.Request {
	var requests []reconcile.Request
	for _, key := range keys {
		requests = append(requests, r.findAll(ctx, exportIndex, key, lostToRival, client.InNamespace(namespace))...)
	}
	return requests
}
