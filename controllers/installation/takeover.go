// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// takeOver completes in memory the status that the controllers of Gardener Landscaper left: nothing but their last job is known, and that
// counts. An idle Installation gets the condition that shows its result, and what siblings export now counts as consumed, so that no job
// starts. Conditions of the former kind go. A running job goes on from its beginning, because not every child may have got it.
func (r *Reconciler) takeOver(ctx context.Context, s *reconciliation) error {
	if !isFormer(s.Inst) {
		return nil
	}
	status := &s.Inst.Status
	status.Conditions = nil
	switch {
	case !status.IsIdle() && !status.Phase.IsFinal() && s.Inst.DeletionTimestamp.IsZero():
		kit.SetPhase(s.Inst.Job(), v1alpha1.PhaseInit, s.Now)
		kit.Progress(s.Inst, meta.ProgressingReason, "a job of Gardener Landscaper is taken over")
	case status.IsIdle() && status.Phase.IsFinal():
		showResult(s.Inst)
		return r.order.TakeAsConsumed(ctx, s.Inst)
	}
	return nil
}

// isFormer reports whether the last writer of a status with a job was Gardener Landscaper: it knows no condition Ready, which every job of
// ours begins with.
func isFormer(inst *v1alpha1.Installation) bool {
	return inst.Status.JobID != "" && !conditions.Has(inst, meta.ReadyCondition)
}

// showResult shows how the last job ended.
func showResult(inst *v1alpha1.Installation) {
	if inst.Status.Phase == v1alpha1.PhaseSucceeded {
		conditions.MarkTrue(inst, meta.ReadyCondition, meta.ReconciliationSucceededReason, "the last job of Gardener Landscaper succeeded")
		return
	}
	message := jobs.LastMessage(inst.Status.LastError)
	conditions.MarkStalled(inst, meta.ReconciliationFailedReason, "%s", message)
	conditions.MarkFalse(inst, meta.ReadyCondition, meta.ReconciliationFailedReason, "%s", message)
}
