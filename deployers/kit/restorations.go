// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// minRestorationPause is how long a thing is left off after it was put back once, maxRestorationPause after many times.
	minRestorationPause = 15 * time.Second
	maxRestorationPause = 10 * time.Minute
)

// Restorations says when something of objects that somebody had removed was put back, so that who removes it again and again meets ever longer
// pauses. The zero value is empty. It is safe for concurrent use.
type Restorations struct {
	mu   sync.Mutex
	last map[types.NamespacedName]restoration
}

type restoration struct {
	at    time.Time
	pause time.Duration
}

// Left returns how long to wait before it is put back again; nothing where that may be now.
func (rs *Restorations) Left(object types.NamespacedName, now time.Time) time.Duration {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	last, found := rs.last[object]
	if !found {
		return 0
	}
	return max(last.at.Add(last.pause).Sub(now), 0)
}

// Note notes that it was put back. The next pause is twice the last, and the shortest where that is long over.
func (rs *Restorations) Note(object types.NamespacedName, now time.Time) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	next := restoration{at: now, pause: minRestorationPause}
	if last, found := rs.last[object]; found && now.Sub(last.at) < 2*maxRestorationPause {
		next.pause = min(2*last.pause, maxRestorationPause)
	}
	if rs.last == nil {
		rs.last = map[types.NamespacedName]restoration{}
	}
	rs.last[object] = next
}

// Forget forgets an object that is gone.
func (rs *Restorations) Forget(object types.NamespacedName) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.last, object)
}
