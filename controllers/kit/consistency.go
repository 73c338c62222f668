// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unseenLimit is how long an object that this process created may be missing in the cache before it counts as deleted by
// somebody else.
const unseenLimit = 5 * time.Second

// Consistency remembers what this process wrote until the cache shows it, so that no decision rests on a cache that is
// older than the own last write. It holds one kind of objects and is safe for concurrent use.
type Consistency struct {
	mu      sync.Mutex
	written map[types.NamespacedName]write
}

type write struct {
	uid     types.UID
	version uint64
	at      time.Time
}

// Wrote records an object as the API server returned it from a write.
func (c *Consistency) Wrote(obj client.Object) {
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.written == nil {
		c.written = map[types.NamespacedName]write{}
	}
	c.written[client.ObjectKeyFromObject(obj)] = write{uid: obj.GetUID(), version: version, at: time.Now()}
}

// Stale tells whether a cached object is older than the last recorded write. The event that shows the write is still to
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
	if err == nil && version < last.version {
		return true
	}
	delete(c.written, key)
	return false
}

// Unseen returns how long to wait for an object that the cache does not have although this process wrote it; 0 when it
// was not written or has been missing for so long that it must have been deleted.
func (c *Consistency) Unseen(key types.NamespacedName) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.written[key]
	if !ok {
		return 0
	}
	if left := unseenLimit - time.Since(last.at); left > 0 {
		return left
	}
	delete(c.written, key)
	return 0
}

// Forget drops what was recorded for an object that is known to be gone.
func (c *Consistency) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.written, key)
}
