// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	// minGuardPause is how long the finalizer of an item is left off after the deployer has put it back once, maxGuardPause after many times.
	minGuardPause = 15 * time.Second
	maxGuardPause = 10 * time.Minute
)

// reasonFinalizerRestored is the reason of the event about a finalizer that is back.
const reasonFinalizerRestored = "FinalizerRestored"

const finalizerRestoredMessage = "the finalizer " + v1alpha1.Finalizer + " was removed and is back: without it a deletion would leave on the target what the item " +
	"has deployed. To leave it there annotate " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true"

// lacksFinalizer reports whether an idle item that this deployer has begun to deploy is without the finalizer that its deletion waits for.
func (r *reconciler) lacksFinalizer(item *v1alpha1.DeployItem) bool {
	by := item.Status.Deployer
	return by != nil && by.Name == r.deployer.Name() && item.Job().IsIdle() && !isDeleting(item) &&
		!controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer) && item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true"
}

// keepFinalizer puts back the finalizer that somebody has removed from an idle item, more and more rarely while that repeats.
func (r *reconciler) keepFinalizer(ctx context.Context, s *scope) error {
	if !r.lacksFinalizer(s.item) {
		return nil
	}
	now := time.Now()
	if left := r.restored.left(s.key(), now); left > 0 {
		s.hookRequeue = sooner(s.hookRequeue, left)
		return nil
	}
	if err := r.patchMetadata(ctx, s.item, kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	r.restored.note(s.key(), now)
	r.options.Recorder.Event(s.item, corev1.EventTypeWarning, reasonFinalizerRestored, finalizerRestoredMessage)
	return nil
}

// restorations says when finalizers were put back. The zero value is empty. It is safe for concurrent use.
type restorations struct {
	mu   sync.Mutex
	last map[types.NamespacedName]restoration
}

type restoration struct {
	at    time.Time
	pause time.Duration
}

// left returns how long to wait before the finalizer of an item is put back again.
func (rs *restorations) left(item types.NamespacedName, now time.Time) time.Duration {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	last := rs.last[item]
	return last.at.Add(last.pause).Sub(now)
}

// note notes that the finalizer of an item is back. The next pause is twice the last, and the shortest where that is long over.
func (rs *restorations) note(item types.NamespacedName, now time.Time) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	next := restoration{at: now, pause: minGuardPause}
	if last, found := rs.last[item]; found && now.Sub(last.at) < 2*maxGuardPause {
		next.pause = min(2*last.pause, maxGuardPause)
	}
	if rs.last == nil {
		rs.last = map[types.NamespacedName]restoration{}
	}
	rs.last[item] = next
}

func (rs *restorations) forget(item types.NamespacedName) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.last, item)
}
