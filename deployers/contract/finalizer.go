// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
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
	if left := r.restored.Left(s.key(), now); left > 0 {
		s.hookRequeue = sooner(s.hookRequeue, left)
		return nil
	}
	if err := r.patchMetadata(ctx, s.item, kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	r.restored.Note(s.key(), now)
	r.options.Recorder.Event(s.item, corev1.EventTypeWarning, reasonFinalizerRestored, finalizerRestoredMessage)
	return nil
}
