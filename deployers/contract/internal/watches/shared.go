// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package watches

import (
	"context"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
)

// maxRememberedChanges bounds the names that a watch remembers.
const maxRememberedChanges = 1024

// Pauses before a watch is opened again.
const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// sharedWatch watches one object, or one kind in one namespace, for all who wait for it.
type sharedWatch struct {
	key     Key
	cluster *target.Cluster
	cancel  context.CancelFunc

	mu sync.Mutex
	// complete is since when no change goes unnoticed; zero while the watch is not open.
	complete time.Time
	// changed is when an object of a name was last seen to change.
	changed map[string]time.Time
	// waiting are those who wait, by the name of the object that they wait for; the empty name means any.
	waiting map[string]map[Waiter]struct{}
}

func newSharedWatch(cluster *target.Cluster, key Key) *sharedWatch {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sharedWatch{
		key: key, cluster: cluster, cancel: cancel,
		changed: map[string]time.Time{}, waiting: map[string]map[Waiter]struct{}{},
	}
	go s.run(ctx)
	return s
}

// attach adds who waits for the object of a name. It returns whether a change since the given time may have been missed;
// while the watch is not open it need not be reported, because all are woken when it is.
func (s *sharedWatch) attach(by Waiter, name string, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[name] == nil {
		s.waiting[name] = map[Waiter]struct{}{}
	}
	s.waiting[name][by] = struct{}{}
	if s.complete.IsZero() {
		return false
	}
	return s.complete.After(since) || s.lastChange(name).After(since)
}

func (s *sharedWatch) lastChange(name string) time.Time {
	if name != "" {
		return s.changed[name]
	}
	var last time.Time
	for _, at := range s.changed {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// detach removes a waiter and reports whether nobody is left.
func (s *sharedWatch) detach(by Waiter, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting[name], by)
	if len(s.waiting[name]) == 0 {
		delete(s.waiting, name)
	}
	return len(s.waiting) == 0
}

func (s *sharedWatch) isUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0
}

// run keeps the watch open. Whenever it had to be opened anew all are woken, also when that failed: then the back-off paces
// how often they look for themselves.
func (s *sharedWatch) run(ctx context.Context) {
	defer s.cancel()
	for attempt := 0; ctx.Err() == nil; attempt++ {
		started := time.Now()
		s.stream(ctx)
		s.interrupted()
		if time.Since(started) > maxBackoff {
			attempt = 0
		}
		kit.Sleep(ctx, kit.Doubled(minBackoff, maxBackoff, attempt))
		s.wakeAll()
	}
}

// stream opens the watch and reports changes until it breaks, be it by a panic over what the target sends.
func (s *sharedWatch) stream(ctx context.Context) {
	_ = rescue.Survived(ctx, func() error {
		return s.cluster.Follow(ctx, target.Stream{Kind: s.key.kind, Namespace: s.key.namespace, Name: s.key.name}, s.opened, s.report)
	})
}

func (s *sharedWatch) opened() {
	s.mu.Lock()
	s.complete = time.Now()
	s.mu.Unlock()
	s.wakeAll()
}

func (s *sharedWatch) interrupted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complete = time.Time{}
	clear(s.changed)
}

func (s *sharedWatch) report(object metav1.Object) {
	name := object.GetName()
	s.mu.Lock()
	s.note(name)
	named, every := members(s.waiting[name]), members(s.waiting[""])
	s.mu.Unlock()
	for _, waiter := range named {
		waiter.Wake(s.key.of(name))
	}
	for _, waiter := range every {
		waiter.Wake(s.key.wide())
	}
}

// note remembers a change. When there are too many to remember, or the name is longer than those of API servers, it counts as if the watch had been
// opened only now.
func (s *sharedWatch) note(name string) {
	now := time.Now()
	if len(name) > maxName {
		s.complete = now
		return
	}
	if len(s.changed) >= maxRememberedChanges {
		clear(s.changed)
		s.complete = now
	}
	s.changed[strings.Clone(name)] = now
}

// wakeAll wakes everybody for everything that they wait for.
func (s *sharedWatch) wakeAll() {
	s.mu.Lock()
	all := map[Waiter][]Key{}
	for name, set := range s.waiting {
		for waiter := range set {
			all[waiter] = append(all[waiter], s.key.of(name))
		}
	}
	s.mu.Unlock()
	for waiter, keys := range all {
		waiter.Wake(keys...)
	}
}

func members(set map[Waiter]struct{}) []Waiter {
	all := make([]Waiter, 0, len(set))
	for waiter := range set {
		all = append(all, waiter)
	}
	return all
}
