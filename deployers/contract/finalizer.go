// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const finalizerRestoredMessage = "the finalizer " + v1alpha1.Finalizer + " was removed and is back: without it a deletion would leave on the target what the item " +
	"has deployed. To leave it there annotate " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true"

// protect sets the finalizer that a deletion waits for, before the deployer is called. The status of the job was written before: an item that has got its
// finalizer so has had a job.
func (r *reporter) protect(ctx context.Context, s *scope) error {
	if s.deleting() || controllerutil.ContainsFinalizer(s.item, v1alpha1.Finalizer) {
		return nil
	}
	err := r.writes.Metadata(ctx, s.item, kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer})
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || ctx.Err() != nil {
		return err
	}
	s.err = fmt.Errorf("cannot set the finalizer %s: %w", v1alpha1.Finalizer, err)
	return stopAfter(r.report(ctx, s))
}

// keepFinalizer puts back the finalizer that somebody has removed from an idle item, more and more rarely while that repeats or is refused.
func (r *reconciler) keepFinalizer(ctx context.Context, s *scope) error {
	if !items.LacksFinalizer(s.item, r.deployer.Name()) {
		return nil
	}
	key, now := s.key().String(), time.Now()
	if r.restored.IsInBackOffSinceUpdate(key, now) {
		s.hookRequeue = sooner(s.hookRequeue, r.restored.Get(key))
		return nil
	}
	err := r.writes.Metadata(ctx, s.item, kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer})
	if err != nil && (kit.IsTransient(err) || apierrors.IsNotFound(err)) {
		return err
	}
	r.restored.Next(key, now)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "put back the finalizer")
		s.hookRequeue = sooner(s.hookRequeue, r.restored.Get(key))
		return nil // whoever refuses it keeps nothing else from the item
	}
	r.options.Recorder.Event(s.item, corev1.EventTypeWarning, kit.ReasonFinalizerRestored, finalizerRestoredMessage)
	return nil
}
