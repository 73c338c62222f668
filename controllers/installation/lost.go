// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// findLoss returns what an idle Installation has lost; nil when nothing.
func (r *Reconciler) findLoss(ctx context.Context, s *reconciliation) (*jobs.Loss, error) {
	if found := jobs.LossOf(s.Inst, s.family.Execution, s.family.Children); found != nil {
		return found, nil
	}
	lost, err := r.publisher.Lost(ctx, s.Inst)
	if lost == "" || err != nil {
		return nil, err
	}
	return &jobs.Loss{Reason: kit.ReasonExportLost, Message: lost + " was deleted, which this installation exports: the next job of the root exports it again"}, nil
}

// showLoss makes an idle Installation that has lost a child Stalled and not Ready, and takes that back. The phase stays that of the last job, and
// no job starts: whoever deleted the child, or took it out of its owner, may have meant it. Deploy items that have failed by the clock, and exports that are gone, make it not
// Ready and Reconciling, as the clock tries again and the root exports again. A cache may be behind, so that a child that it does not show is looked for.
func (r *Reconciler) showLoss(ctx context.Context, s *reconciliation) (shown bool, err error) {
	before := jobs.IsLoss(jobs.ReadyOf(s.Inst).Reason)
	found, err := r.findLoss(ctx, s)
	if err != nil {
		return false, err
	}
	if found == nil {
		if before {
			conditions.Delete(s.Inst, meta.StalledCondition)
			conditions.Delete(s.Inst, meta.ReconcilingCondition)
			s.restoreReady()
		}
		return false, nil
	}
	if found.Missing != nil {
		if isThere, err := r.lookFor(ctx, s, found, before); err != nil || isThere {
			return false, err
		}
	}
	kit.ShowFailure(s.Inst, &kit.Failure{
		Kind: kit.Stalled, Operation: jobs.Operation, Reason: found.Reason, Heals: found.Reason != kit.ReasonChildLost, Err: errors.New(found.Message),
	})
	if s.Inst.IsRoot() && s.Inst.Spec.Suspend {
		s.Inst.Status.ObservedGeneration = s.Inst.Generation // as that of every suspended one is
	}
	return true, nil
}

// lookFor reports whether a child is there that the cache does not show among those of the Installation. One that is there and has another owner, or
// none, is lost, too. What was shown before is not looked for live again.
func (r *Reconciler) lookFor(ctx context.Context, s *reconciliation, found *jobs.Loss, shown bool) (isThere bool, err error) {
	var reader client.Reader = r.Live
	if shown {
		reader = r.Client
	}
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(found.Missing), found.Missing); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case metav1.IsControlledBy(found.Missing, s.Inst):
		return !shown, nil
	}
	found.Message = found.Disowned
	return false, nil
}

// exportPace is the least time between the end of a job and the next one for an export that somebody has deleted.
const exportPace = 10 * time.Second

// exportsAgain returns why a root has to export again: it has lost an export, or an Installation below it says so. That ends the wait of those who
// import it. A job for it comes at a pace, whoever deletes exports how often ever.
func (r *Reconciler) exportsAgain(ctx context.Context, s *reconciliation) (string, error) {
	lost, err := r.publisher.Lost(ctx, s.Inst)
	if err != nil {
		return "", err
	}
	if below := jobs.LossOf(s.Inst, s.family.Execution, s.family.Children); lost == "" && below != nil && below.Reason == kit.ReasonExportLost {
		lost = below.Message
	}
	times := s.Inst.Status.TransitionTimes
	if lost == "" || times == nil || times.FinishedTime == nil || s.Inst.Status.ObservedGeneration != s.Inst.Generation {
		return "", nil
	}
	if due := times.FinishedTime.Add(exportPace); due.After(s.Now) && !kit.IsAhead(due, s.Now) {
		s.Wake(due.Sub(s.Now))
		return "", nil
	}
	return "an export is gone: " + lost, nil
}
