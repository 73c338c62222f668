// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"maps"
	"math"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
