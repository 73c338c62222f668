// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"

	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const loopGuardMessage = "the annotation " + v1alpha1.OperationAnnotation + " is kept in Git, so it would start a job at every sync; it only starts " +
	"one when the spec changed. Remove it in Git; to start a job by hand set it without Flux"

// isGuarded reports whether status says that Flux keeps the test annotation of an item.
func isGuarded(item *v1alpha1.DeployItem) bool {
	return conditions.Has(item, kit.OperationInGitCondition)
}

// guardLoop reports whether the test annotation of an idle item asks for nothing: Flux, which would put it back at every sync, keeps it, and
// the present spec had its job. A deletion is not synced, and always has its job.
func (r *reconciler) guardLoop(ctx context.Context, s *scope) (bool, error) {
	isKept := false
	if !s.deleting() {
		var err error
		if isKept, err = kit.IsAppliedByFlux(ctx, r.live, s.item, "DeployItem", v1alpha1.OperationAnnotation); err != nil {
			return false, err
		}
	}
	if !isKept {
		conditions.Delete(s.item, kit.OperationInGitCondition)
		return false, nil
	}
	if !isGuarded(s.item) {
		r.options.Recorder.Event(s.item, corev1.EventTypeWarning, kit.ReasonLoopGuard, loopGuardMessage)
		conditions.MarkTrue(s.item, kit.OperationInGitCondition, kit.ReasonLoopGuard, "%s", loopGuardMessage)
	}
	return s.item.Status.ObservedGeneration == s.item.Generation, nil
}

// endGuard takes the condition off an item that is idle and has no test annotation any more, and ends the pass.
func (r *reconciler) endGuard(ctx context.Context, s *scope) error {
	if !isGuarded(s.item) || !s.item.Job().IsIdle() {
		return nil
	}
	conditions.Delete(s.item, kit.OperationInGitCondition)
	return stopAfter(r.updateStatus(ctx, s.item))
}
