// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

const finalizerRestoredMessage = "the finalizer " + v1alpha1.Finalizer + " was removed and is back: without it a deletion would not wait for the DeployItems. " +
	"To leave what they have deployed annotate " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true"

// mendIdle removes an operation where nothing is running, and stops. With the same write it puts back the finalizer that somebody has removed from an
// Execution with DeployItems, more and more rarely while that repeats.
func (r *Reconciler) mendIdle(ctx context.Context, s *scope) error {
	key := client.ObjectKeyFromObject(s.execution).String()
	change, isLacking := dropped(), s.lacksFinalizer()
	if isLacking {
		if r.restored.IsInBackOffSinceUpdate(key, s.now) {
			s.requeue, isLacking = r.restored.Get(key), false
		} else {
			change.AddFinalizer = v1alpha1.Finalizer
		}
	}
	err := r.patchMetadata(ctx, s, change)
	if err != nil && (!isLacking || protocol.IsTransient(err) || apierrors.IsNotFound(err)) {
		return &unshown{err}
	}
	if isLacking {
		r.restored.Next(key, s.now)
	}
	if err != nil { // whoever refuses the finalizer does not keep the Execution from showing what it has lost
		ctrl.LoggerFrom(ctx).Error(err, "the finalizer cannot be put back; it is tried again")
		s.requeue = r.restored.Get(key)
		return protocol.ErrStop
	}
	if isLacking {
		r.Recorder.Event(s.execution, corev1.EventTypeWarning, queue.ReasonFinalizerRestored, finalizerRestoredMessage)
	}
	return protocol.ErrStop
}

// lacksFinalizer reports whether an Execution with something to uninstall is without the finalizer that its deletion waits for.
func (s *scope) lacksFinalizer() bool {
	return len(s.all) > 0 && !slices.Contains(s.execution.Finalizers, v1alpha1.Finalizer) &&
		s.execution.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true"
}
