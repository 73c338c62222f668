// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// reasonFinalizerRestored is the reason of the event about a finalizer that is back.
const reasonFinalizerRestored = "FinalizerRestored"

const finalizerRestoredMessage = "the finalizer " + v1alpha1.Finalizer + " was removed and is back: without it a deletion would leave on the target what the item " +
	"has deployed. To leave it there annotate " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true"

// lacksFinalizer reports whether an idle item that this deployer has begun to deploy is without the finalizer that its deletion waits for. Without
// an Execution above nobody would give a deletion the job that takes the finalizer off again.
func (r *reconciler) lacksFinalizer(item *v1alpha1.DeployItem) bool {
	by := item.Status.Deployer
	return by != nil && by.Name == r.deployer.Name() && item.Job().IsIdle() && !isDeleting(item) && kit.ControllerOf(item, "Execution") != nil &&
		!controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer) && item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true"
}

// keepFinalizer puts back the finalizer that somebody has removed from an idle item, more and more rarely while that repeats or is refused.
func (r *reconciler) keepFinalizer(ctx context.Context, s *scope) error {
	if !r.lacksFinalizer(s.item) {
		return nil
	}
	now := time.Now()
	if left := r.restored.Left(s.key(), now); left > 0 {
		s.hookRequeue = sooner(s.hookRequeue, left)
		return nil
	}
	err := r.patchMetadata(ctx, s.item, kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer})
	if err != nil && !isRefused(err) {
		return err
	}
	r.restored.Note(s.key(), now)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "put back the finalizer")
		s.hookRequeue = sooner(s.hookRequeue, r.restored.Left(s.key(), now))
		return nil // whoever refuses it keeps nothing else from the item
	}
	r.options.Recorder.Event(s.item, corev1.EventTypeWarning, reasonFinalizerRestored, finalizerRestoredMessage)
	return nil
}

// isRefused reports whether the API server has answered a write with an error that is not about another version of the object, or its end.
func isRefused(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err)
}
