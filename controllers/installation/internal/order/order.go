// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package order waits for siblings, and says whether what they export asks for a job. It reads only, and knows nothing of the children of an
// Installation but whether their deletion has begun. It promises nothing to others.
package order

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Order says in which order Installations work.
type Order struct {
	client.Reader
	Related *relations.Finder
	// Inputs says whether imports have changed.
	Inputs *inputs.Reader
	// Installations knows what was written to them.
	Installations *kit.Consistency
}

// AwaitPredecessors waits until every sibling that exports what this Installation imports has finished, and fails when one
// has failed.
func (o *Order) AwaitPredecessors(ctx context.Context, inst *v1alpha1.Installation) error {
	if cycle, err := o.Related.Cycle(ctx, inst); err != nil || cycle != nil {
		return cycleFailure(cycle, err)
	}
	predecessors, err := o.Related.Producers(ctx, inst)
	if err != nil || len(predecessors) == 0 {
		return err
	}
	if err := o.awaitIdle(ctx, inst, predecessors); err != nil {
		return err
	}
	for _, predecessor := range predecessors {
		if predecessor.Status.Phase != v1alpha1.PhaseSucceeded {
			// What was imported anew while the job waited for others counts as used by it: one more job would fail like it.
			if _, err := o.Inputs.ChangedImports(ctx, inst); kit.IsTransient(err) {
				return err
			}
			return predecessorFailure(predecessor, causeOf(predecessor))
		}
	}
	inst.Status.ConsumedHash, err = o.consumedHash(ctx, inst, predecessors)
	return err
}

// awaitIdle waits while a predecessor is at work, or for roots any other that something flows from. It fails when a predecessor can never end
// the common job.
func (o *Order) awaitIdle(ctx context.Context, inst *v1alpha1.Installation, predecessors []*v1alpha1.Installation) error {
	for _, predecessor := range predecessors {
		if o.Installations.Stale(predecessor) {
			return kit.ErrStop
		}
		if !inst.IsRoot() && jobs.LeavesJob(predecessor, inst.Status.JobID) {
			return predecessorFailure(predecessor, jobs.LeavesJobMessage)
		}
		if jobs.Running(inst, predecessor) {
			return kit.Wait(jobs.OrderOperation, jobs.ReasonPredecessorUnready, "waiting for installation %s, which exports what this one imports",
				predecessor.Name)
		}
	}
	if !inst.IsRoot() {
		return nil
	}
	busy, err := o.upstreamAtWork(ctx, inst, predecessors)
	if err != nil || busy == nil {
		return err
	}
	return kit.Wait(jobs.OrderOperation, jobs.ReasonPredecessorUnready, "waiting for installation %s, from which something flows to what this one imports",
		busy.Name)
}

// AwaitSuccessors holds a deletion back while a sibling still imports what this Installation exports, unless all of a circle are being deleted.
func (o *Order) AwaitSuccessors(ctx context.Context, f *children.Family) error {
	if f.InDeletion() || f.Inst.Annotations[v1alpha1.DeleteIgnoreSuccessorsAnnotation] == "true" {
		return nil
	}
	successors, err := o.Related.AwaitedSuccessors(ctx, f.Inst)
	if err != nil {
		return err
	}
	parent, err := o.Related.Parent(ctx, f.Inst)
	if err != nil {
		return err
	}
	for _, successor := range successors {
		if jobs.FailedWith(f.Inst, parent, successor) {
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
