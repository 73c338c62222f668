// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// maxRememberedChanges bounds the names that a watch remembers.
const maxRememberedChanges = 4096

// sharedWatch watches one object, or one kind in one namespace, of a target for all jobs that wait for it.
type sharedWatch struct {
	key     watchKey
	cluster *target.Cluster
	wake    func(*job, ...watchKey)
	cancel  context.CancelFunc

	mu sync.Mutex
	// complete is since when no change goes unnoticed; zero while the watch is not open.
	complete time.Time
	// changed is when an object of a name was last seen to change.
	changed map[string]time.Time
	// waiting are the jobs by the name of the object they wait for; the empty name means any.
	waiting map[string]map[*job]struct{}
}

func newSharedWatch(cluster *target.Cluster, key watchKey, wake func(*job, ...watchKey)) *sharedWatch {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sharedWatch{
		key: key, cluster: cluster, wake: wake, cancel: cancel,
		changed: map[string]time.Time{}, waiting: map[string]map[*job]struct{}{},
	}
	go s.run(ctx)
	return s
}

// attach adds a job that waits for the object of a name. It returns whether a change since the given time may have been missed;
// while the watch is not open it need not be reported, because all jobs are woken when it is.
func (s *sharedWatch) attach(j *job, name string, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[name] == nil {
		s.waiting[name] = map[*job]struct{}{}
	}
	s.waiting[name][j] = struct{}{}
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

// detach removes a job and reports whether nobody is left.
func (s *sharedWatch) detach(j *job, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting[name], j)
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

// run keeps the watch open. Whenever it had to be opened anew all jobs are woken, also when that failed: then the back-off paces
// how often they look for themselves.
func (s *sharedWatch) run(ctx context.Context) {
	defer s.cancel()
	for attempt := 0; ctx.Err() == nil; attempt++ {
		started := time.Now()
		s.stream(ctx)
		s.interrupted()
		if time.Since(started) > maxWatchBackoff {
			attempt = 0
		}
		pause(ctx, watchBackoff(attempt))
		s.wakeAll()
	}
}

func pause(ctx context.Context, delay time.Duration) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// stream opens the watch and reports changes until it breaks.
func (s *sharedWatch) stream(ctx context.Context) {
	_ = s.cluster.Follow(ctx, target.Stream{Kind: s.key.kind, Namespace: s.key.namespace, Name: s.key.name}, s.opened, s.report)
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
	for _, j := range named {
		s.wake(j, s.key.of(name))
	}
	for _, j := range every {
		s.wake(j, s.key.wide())
	}
}

// note remembers a change. When there are too many to remember, it counts as if the watch had been opened only now.
func (s *sharedWatch) note(name string) {
	if len(s.changed) >= maxRememberedChanges {
		clear(s.changed)
		s.complete = time.Now()
	}
	s.changed[name] = time.Now()
}

// wakeAll wakes every job for everything it waits for.
func (s *sharedWatch) wakeAll() {
	s.mu.Lock()
	all := map[*job][]watchKey{}
	for name, set := range s.waiting {
		for j := range set {
			all[j] = append(all[j], s.key.of(name))
		}
	}
	s.mu.Unlock()
	for j, keys := range all {
		s.wake(j, keys...)
	}
}

func members(set map[*job]struct{}) []*job {
	all := make([]*job, 0, len(set))
	for j := range set {
		all = append(all, j)
	}
	return all
}
