// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// awaitPredecessors waits until every sibling that exports what this Installation imports has finished, and fails when one
// has failed.
func (r *Reconciler) awaitPredecessors(ctx context.Context, s *scope) error {
	if cycle, err := r.related.Cycle(ctx, s.inst); err != nil || cycle != nil {
		return cycleFailure(cycle, err)
	}
	predecessors, err := r.related.Predecessors(ctx, s.inst)
	if err != nil || len(predecessors) == 0 {
		return err
	}
	if err := r.awaitIdle(ctx, s, predecessors); err != nil {
		return err
	}
	for _, predecessor := range predecessors {
		if predecessor.Status.Phase != v1alpha1.PhaseSucceeded {
			// What was imported anew while the job waited for others counts as used by it: one more job would fail like it.
			if _, err := r.Inputs.ChangedImports(ctx, s.inst); kit.IsTransient(err) {
				return err
			}
			return predecessorFailure(predecessor, causeOf(predecessor))
		}
	}
	s.inst.Status.ConsumedHash, err = r.consumedHash(ctx, s.inst, predecessors)
	return err
}

// awaitIdle waits while a predecessor is at work, or for roots any other that something flows from. It fails when a predecessor can never end
// the common job.
func (r *Reconciler) awaitIdle(ctx context.Context, s *scope, predecessors []*v1alpha1.Installation) error {
	for _, predecessor := range predecessors {
		if r.installations.Stale(predecessor) {
			return kit.ErrStop
		}
		if !s.inst.IsRoot() && jobs.LeavesJob(predecessor, s.inst.Status.JobID) {
			return predecessorFailure(predecessor, jobs.LeavesJobMessage)
		}
		if jobs.Running(s.inst, predecessor) {
			return kit.Wait(jobs.OrderOperation, jobs.ReasonPredecessorUnready, "waiting for installation %s, which exports what this one imports",
				predecessor.Name)
		}
	}
	if !s.inst.IsRoot() {
		return nil
	}
	busy, err := r.upstreamAtWork(ctx, s.inst, predecessors)
	if err != nil || busy == nil {
		return err
	}
	return kit.Wait(jobs.OrderOperation, jobs.ReasonPredecessorUnready, "waiting for installation %s, from which something flows to what this one imports",
		busy.Name)
}

// awaitSuccessors holds a deletion back while a sibling still imports what this Installation exports, unless all of a circle are being deleted.
func (r *Reconciler) awaitSuccessors(ctx context.Context, s *scope) error {
	if s.childrenInDeletion() || s.inst.Annotations[v1alpha1.DeleteIgnoreSuccessorsAnnotation] == "true" {
		return nil
	}
	successors, err := r.related.AwaitedSuccessors(ctx, s.inst)
	if err != nil {
		return err
	}
	parent, err := r.related.Parent(ctx, s.inst)
	if err != nil {
		return err
	}
	for _, successor := range successors {
		if jobs.FailedWith(s.inst, parent, successor) {
			return kit.Stall(jobs.OrderOperation, jobs.ReasonSiblingDeleteError, "deletion of a sibling failed: installation %s: %s",
				successor.Name, jobs.LastMessage(successor.Status.LastError))
		}
	}
	if len(successors) == 0 {
		return nil
	}
	return kit.Wait(jobs.OrderOperation, jobs.ReasonSiblingStillImports,
		"a sibling still imports some of the exports: delete installation %s, or annotate this one %s=true",
		successors[0].Name, v1alpha1.DeleteIgnoreSuccessorsAnnotation)
}

// childrenInDeletion reports whether the deletion has reached the children, from where there is no way back. What the garbage collector has deleted
// still waits for leave.
func (s *scope) childrenInDeletion() bool {
	for _, child := range s.children {
		if !child.DeletionTimestamp.IsZero() && !kit.IsHeldBack(child, s.inst) {
			return true
		}
	}
	return s.execution != nil && !s.execution.DeletionTimestamp.IsZero() && !kit.IsHeldBack(s.execution, s.inst)
}

// causeOf returns why a predecessor has not succeeded.
func causeOf(predecessor *v1alpha1.Installation) string {
	if predecessor.Status.LastError != nil {
		return predecessor.Status.LastError.Message
	}
	return "it has not been reconciled"
}

func predecessorFailure(predecessor *v1alpha1.Installation, cause string) error {
	return kit.Stall(jobs.OrderOperation, jobs.ReasonPredecessorFailed, "depending on installation %s which is not succeeded: %s",
		predecessor.Name, cause)
}

func cycleFailure(cycle []string, err error) error {
	if err != nil {
		return err
	}
	return &kit.Failure{
		Kind: kit.Stalled, Operation: jobs.OrderOperation, Reason: jobs.ReasonCyclicDependencies,
		Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorCyclicDependencies},
		Err: fmt.Errorf("cycle found in the data flow between installations: %s; remove one of the imports",
			strings.Join(cycle, " -{depends_on}-> ")),
	}
}
