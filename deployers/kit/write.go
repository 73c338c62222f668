// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// MetadataChange is a change of an object's metadata. The zero value changes nothing.
type MetadataChange struct {
	// AddFinalizer and RemoveFinalizer name one finalizer each.
	AddFinalizer, RemoveFinalizer string
	// Annotations to set, or to remove where the value is nil.
	Annotations map[string]*string
	// Labels to set, or to remove where the value is nil.
	Labels map[string]*string
}

// PatchMetadata applies a change in one merge patch that fails with a conflict if the object changed since it was read.
// It does nothing when nothing would change. The object is updated with the answer of the API server.
func PatchMetadata(ctx context.Context, c client.Client, obj client.Object, change MetadataChange) error {
	metadata := map[string]any{}
	if finalizers, changed := change.finalizers(obj.GetFinalizers()); changed {
		metadata["finalizers"] = finalizers
	}
	if annotations := changed(change.Annotations, obj.GetAnnotations()); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if labels := changed(change.Labels, obj.GetLabels()); len(labels) > 0 {
		metadata["labels"] = labels
	}
	if len(metadata) == 0 {
		return nil
	}
	metadata["resourceVersion"], metadata["uid"] = obj.GetResourceVersion(), obj.GetUID()
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode metadata patch: %w", err)
	}
	return c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, body))
}

func (m MetadataChange) finalizers(present []string) ([]string, bool) {
	next := slices.Clone(present)
	if m.AddFinalizer != "" && !slices.Contains(next, m.AddFinalizer) {
		next = append(next, m.AddFinalizer)
	}
	next = slices.DeleteFunc(next, func(f string) bool { return f == m.RemoveFinalizer && f != "" })
	if next == nil {
		next = []string{}
	}
	return next, len(next) != len(present) || !slices.Equal(next, present)
}

// changed returns of what is wanted that which is not present so.
func changed(wanted map[string]*string, present map[string]string) map[string]*string {
	changes := map[string]*string{}
	for key, value := range wanted {
		old, has := present[key]
		if value == nil && has || value != nil && (!has || old != *value) {
			changes[key] = value
		}
	}
	return changes
}

// DeleteLive deletes an object that is still the one that the decision was made for: with UID and resourceVersion as preconditions. Where a cache
// has shown an older version, the object is read live first. One that is gone, already in deletion, or without the owner that it had is left alone.
// Written, which may be nil, learns of the deletion.
func DeleteLive(ctx context.Context, live client.Reader, c client.Client, obj client.Object, written *Consistency) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if obj.GetUID() != "" && obj.GetResourceVersion() != "" {
		if err := deleteVersion(ctx, c, obj, written); !apierrors.IsConflict(err) {
			return err
		}
	}
	uid, owner := obj.GetUID(), metav1.GetControllerOf(obj)
	err := live.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	isLeft := owner != nil && metav1.GetControllerOf(obj) == nil
	if apierrors.IsNotFound(err) || err == nil && (obj.GetUID() != uid || !obj.GetDeletionTimestamp().IsZero() || isLeft) {
		return nil
	}
	if err != nil {
		return err
	}
	return deleteVersion(ctx, c, obj, written)
}

// deleteVersion deletes an object in the version that was read, and fails with a conflict on any other. One that is gone is none.
func deleteVersion(ctx context.Context, c client.Client, obj client.Object, written *Consistency) error {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	err := c.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err == nil && written != nil {
		written.Deleted(obj)
	}
	return client.IgnoreNotFound(err)
}

// Status is a pointer to the status of one kind of objects.
type Status[S any] interface {
	*S
	// DeepCopy returns a copy that shares nothing.
	DeepCopy() *S
}

// updateStatus sends an object without the managed fields that an earlier write has returned, which are much of it: for a status the API server goes by
// those that it has stored.
func updateStatus(ctx context.Context, c client.Client, obj client.Object) error {
	obj.SetManagedFields(nil)
	return c.Status().Update(ctx, obj)
}

// WriteStatus writes the status of an object, which lies at status, unless it equals persisted, and returns what is persisted afterwards:
// persisted itself when nothing was written. Written learns of the write. It fails with a conflict if the object changed since it was read.
func WriteStatus[S any, P Status[S]](ctx context.Context, c client.Client, obj client.Object, status, persisted P, written *Consistency) (P, error) {
	if equality.Semantic.DeepEqual(persisted, status) {
		return persisted, nil
	}
	if err := updateStatus(ctx, c, obj); err != nil {
		return persisted, err
	}
	written.Wrote(obj)
	return status.DeepCopy(), nil
}

// PatchMetadataOnly is PatchMetadata for a reconciliation in which status, that of the object, is ahead of what is persisted: the answer of
// the API server does not replace it. Written learns of the write. It returns ErrStop when the object is gone.
func PatchMetadataOnly[S any, P Status[S]](ctx context.Context, c client.Client, obj client.Object, status P, change MetadataChange, written *Consistency) error {
	before, ahead := obj.GetResourceVersion(), status.DeepCopy()
	err := PatchMetadata(ctx, c, obj, change)
	if apierrors.IsNotFound(err) {
		return ErrStop
	}
	if err != nil {
		return err
	}
	*status = *ahead
	if obj.GetResourceVersion() != before {
		written.Wrote(obj)
	}
	return nil
}

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
