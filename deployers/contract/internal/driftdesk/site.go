// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package driftdesk

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/drift"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
)

const (
	// openingTime bounds one attempt to open a Target.
	openingTime = 30 * time.Second
	// unreachableAfter is how many attempts to open a Target have failed, after about a minute, when its items show that.
	unreachableAfter = 5
	// minOpeningPause is the least time between two attempts to open a Target that cannot be opened, however often it changes.
	minOpeningPause = time.Second
)

// siteKey names a Target, and who acts on it.
type siteKey struct {
	namespace, name string
	actor           target.Actor
}

// site looks after the items of one Target, one after the other, so that a slow target delays nobody else.
type site struct {
	desk   *Desk
	key    siteKey
	kicked chan struct{}
	ended  context.Context
	end    context.CancelFunc

	// users, queued, stale and changed belong to the lock of the desk. Stale says that the Target may lead elsewhere, changed that somebody has
	// written it.
	users          int
	queued         map[types.NamespacedName]struct{}
	stale, changed bool

	// The rest belongs to run.
	cluster *target.Cluster
	at      managedresource.ClusterReference
	opened  time.Time
	attempt int
	// retryAt is when a Target that could not be opened is tried again.
	retryAt time.Time
	alarm   *time.Timer
}

func (s *site) enqueue(key types.NamespacedName) {
	s.queued[key] = struct{}{}
	s.kick()
}

// reopen makes the site open its Target again.
func (s *site) reopen() {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.stale = true
	s.kick()
}

func (s *site) kick() {
	select {
	case s.kicked <- struct{}{}:
	default:
	}
}

// run does what is queued until the desk closes or nobody needs the Target.
func (s *site) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.ended, cancel)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.kicked:
		}
		if wait := s.untilOpening(time.Now()); wait > 0 {
			s.kickIn(wait)
			continue
		}
		if pause := s.open(ctx); pause > 0 {
			s.retryAt = time.Now().Add(pause)
			s.kickIn(pause)
			continue
		}
		for _, key := range s.take() {
			s.try(ctx, key)
		}
	}
}

// try handles an item. One whose search breaks off by a panic is searched again later.
func (s *site) try(ctx context.Context, key types.NamespacedName) {
	err := rescue.Survived(ctx, func() error {
		s.handle(ctx, key)
		return nil
	})
	if err == nil {
		return
	}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	if known := s.desk.items[key]; known != nil && known.site == s {
		known.followed = false
		s.lookAgain(known, drift.Pause(known.attempt))
		known.attempt++
	}
}

// untilOpening returns how long a Target that could not be opened is left alone: whatever happens to its items, until the pause is over. One that
// somebody has changed is tried sooner.
func (s *site) untilOpening(now time.Time) time.Duration {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	due := s.retryAt
	if soon := s.opened.Add(minOpeningPause); s.changed && soon.Before(due) {
		due = soon
	}
	if wait := due.Sub(now); wait > 0 {
		return wait
	}
	s.changed = false
	return 0
}

// kickIn makes the site look again after a pause, in place of an earlier appointment.
func (s *site) kickIn(pause time.Duration) {
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.alarm = time.AfterFunc(pause, s.kick)
}

func (s *site) take() []types.NamespacedName {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	var keys []types.NamespacedName
	for key := range s.queued {
		keys = append(keys, key)
	}
	clear(s.queued)
	return keys
}

// open opens the Target where that is needed. It returns the pause until the next attempt, 0 when the Target is open.
func (s *site) open(ctx context.Context) time.Duration {
	s.desk.mu.Lock()
	stale := s.stale || s.cluster == nil
	s.stale = false
	s.desk.mu.Unlock()
	if !stale {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, openingTime)
	defer cancel()
	s.opened = time.Now()
	err := rescue.Survived(ctx, func() error { return s.connect(ctx) })
	if err == nil {
		s.attempt, s.retryAt = 0, time.Time{}
		return 0
	}
	s.attempt++
	s.notOpen(s.attempt == unreachableAfter)
	return drift.Pause(s.attempt)
}

// connect opens the Target, and follows its items anew where it leads elsewhere than before.
func (s *site) connect(ctx context.Context) error {
	d := s.desk
	cluster, err := d.Clients.Open(ctx, d.Client, d.Live, s.key.namespace, s.key.name, s.key.actor)
	if err != nil || s.cluster != nil && cluster.Config == s.cluster.Config {
		return err
	}
	identity, err := cluster.Identity(ctx)
	if err != nil {
		return err
	}
	s.cluster = cluster
	s.at = managedresource.ClusterReference{Target: s.key.name, UID: identity.UID, Address: identity.Address}
	s.followAnew()
	return nil
}

// notOpen notes that the Target could not be opened, and lets its items show that once it lasts.
func (s *site) notOpen(lasts bool) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	s.stale = true
	if !lasts {
		return
	}
	for _, known := range d.items {
		if known.site == s {
			known.findings.trouble, known.unreachable = drift.TroubleUnreachable, true
			d.Queue(known.key)
		}
	}
}

// followAnew queues all items of the site, because they are on another connection.
func (s *site) followAnew() {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	for key, known := range s.desk.items {
		if known.site == s {
			known.followed, known.unreachable = false, false
			s.enqueue(key)
		}
	}
}
