// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/owners"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// repeater gives items that have nothing to do jobs of their own: by the clock, sources and hooks, as far as their owners let it.
type repeater struct {
	live    client.Reader
	clock   *clock
	sources *SourceWatch
	hooks   hooks
	// isHooked says that hooks of others may give items jobs.
	isHooked bool
	turns    turns
	held     *owners.Held
}

// isRepeated reports whether the clock, a source or a hook may give an item a job of its own.
func (r *repeater) isRepeated(item *v1alpha1.DeployItem) bool {
	if !items.MayRepeat(item) {
		return false
	}
	if r.isHooked || r.sources.gives(item) {
		return true
	}
	spec, err := r.clock.spec(item)
	return err == nil && spec != nil && isActive(item)
}

// repeat gives an item that has nothing to do a job of its own when hooks ask for it, and else ends the pass.
func (r *repeater) repeat(ctx context.Context, s *scope) error {
	if s.isIdle = s.item.Job().IsIdle(); !s.isIdle {
		r.held.Release(s.key())
		return nil
	}
	if !items.MayRepeat(s.item) {
		return kit.ErrStop
	}
	begins, err := r.hooks.shouldReconcile(ctx, s)
	if err == nil && !begins {
		begins, err = r.sources.hasNews(ctx, s.item)
	}
	if err != nil || !begins {
		return stopAfter(err)
	}
	if !r.turns.take(s.item) {
		s.hookRequeue = time.Millisecond
		return kit.ErrStop
	}
	since := time.Now()
	switch by, err := owners.Find(ctx, r.live, s.item); {
	case err != nil:
		return err
	case by != nil:
		return stopAfter(r.await(ctx, s.item, by, since))
	}
	r.held.Release(s.key())
	s.own, s.isIdle = true, false
	s.item.Status.JobID = v1alpha1.ContinuousJobPrefix + uuid.NewString()
	s.item.Status.JobIDGenerationTime = &metav1.Time{Time: time.Now()}
	return nil
}

// forget drops an item that is gone.
func (r *repeater) forget(key types.NamespacedName) {
	r.turns.forget(key)
	r.held.Release(key)
}

// await brings an item back once an obstacle that was seen at a time changes, if sources are why it is to have a job: the clock comes
// back by itself.
func (r *repeater) await(ctx context.Context, item *v1alpha1.DeployItem, by *owners.Obstacle, since time.Time) error {
	isNew, err := r.sources.hasNews(ctx, item)
	if err != nil {
		return err
	}
	if !isNew || by.Kind == "" {
		r.held.Release(client.ObjectKeyFromObject(item))
		return nil
	}
	r.held.Await(item, by, since)
	return nil
}

// turns holds items that are to get a job of their own, from the pass that found that out to the one that begins it. The queue lets that one wait
// for everything that an event asks for, which the first may be itself. It is safe for concurrent use.
type turns struct {
	mu sync.Mutex
	// after is the last job of each item.
	after map[types.NamespacedName]string
}

// take reports whether it is the turn of an item; else its turn comes in the next pass.
func (t *turns) take(item *v1alpha1.DeployItem) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(item)
	if last, waits := t.after[key]; waits && last == item.Status.JobIDFinished {
		delete(t.after, key)
		return true
	}
	if t.after == nil {
		t.after = map[types.NamespacedName]string{}
	}
	t.after[key] = item.Status.JobIDFinished
	return false
}

// forget drops an item that is gone.
func (t *turns) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.after, key)
}
