// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
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

// unseenLimit is how long an object that this process created may be missing in the cache before it counts as deleted by
// somebody else.
const unseenLimit = 5 * time.Second

// staleLimit is how long a cache may lag behind before its content is taken as it is.
const staleLimit = 30 * time.Second

// Consistency remembers what this process wrote in the last staleLimit, so that no decision rests on a cached object that is
// older than the own last write. A write is remembered after the cache has shown it too: who read the object just before
// still has to find it. It holds one kind of objects and is safe for concurrent use.
type Consistency struct {
	mu      sync.Mutex
	written map[types.NamespacedName]write
	// swept is when writes that say nothing any more were dropped last.
	swept time.Time
}

type write struct {
	uid     types.UID
	version uint64
	at      time.Time
	// created says that no cache has shown the object so far.
	created bool
}

// Wrote records an object as the API server returned it from a write.
func (c *Consistency) Wrote(obj client.Object) {
	c.record(obj, 0)
}

// Created records an object that this process created: until the cache shows it, its absence means nothing.
func (c *Consistency) Created(obj client.Object) {
	c.record(obj, 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	if last, ok := c.written[key]; ok {
		last.created = true
		c.written[key] = last
	}
}

// Deleted records a request to delete the object as it was read: the cache is out of date until it shows the deletion.
func (c *Consistency) Deleted(obj client.Object) {
	c.record(obj, 1)
}

// Released records that the last finalizer was removed: whatever the cache still shows of this object is out of date.
func (c *Consistency) Released(obj client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(client.ObjectKeyFromObject(obj), write{uid: obj.GetUID(), version: math.MaxUint64, at: time.Now()})
}

func (c *Consistency) record(obj client.Object, ahead uint64) {
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	last := c.written[key]
	c.keep(key, write{
		uid: obj.GetUID(), version: version + ahead, at: time.Now(), created: last.created && last.uid == obj.GetUID() && ahead == 0,
	})
}

func (c *Consistency) keep(key types.NamespacedName, w write) {
	if c.written == nil {
		c.written = map[types.NamespacedName]write{}
	}
	c.written[key] = w
	c.sweep(w.at)
}

// sweep drops the writes that say nothing any more, at most once in each staleLimit.
func (c *Consistency) sweep(now time.Time) {
	if now.Sub(c.swept) < staleLimit {
		return
	}
	c.swept = now
	maps.DeleteFunc(c.written, func(_ types.NamespacedName, w write) bool { return now.Sub(w.at) >= staleLimit })
}

// Stale reports whether a cached object is older than the last recorded write. The event that shows the write is still to
// come, so the caller stops and waits for it.
func (c *Consistency) Stale(obj client.Object) bool {
	key := client.ObjectKeyFromObject(obj)
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.written[key]
	if !ok {
		return false
	}
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err == nil && version < last.version && obj.GetUID() == last.uid && time.Since(last.at) < staleLimit {
		return true
	}
	if last.created {
		last.created = false
		c.written[key] = last
	}
	return false
}

// Unseen returns how long to wait for an object that the cache does not have although this process created it; 0 when it
// did not or when it has been missing for so long that it must have been deleted.
func (c *Consistency) Unseen(key types.NamespacedName) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.written[key]
	if left := unseenLimit - time.Since(last.at); last.created && left > 0 {
		return left
	}
	return 0
}

// Forget drops what was recorded for an object that the cache does not show. That this process released it stays: who read
// the object just before still has to find that.
func (c *Consistency) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.written[key].version != math.MaxUint64 {
		delete(c.written, key)
	}
}

// StripManagedFields is a cache transform: managed fields take more memory than the objects and no reconciler reads them
// from a cache.
func StripManagedFields(obj any) (any, error) {
	if accessor, ok := obj.(metav1.Object); ok {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}
