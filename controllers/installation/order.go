// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// awaitPredecessors waits until every sibling that exports what this Installation imports has finished, and fails when one
// has failed.
func (r *Reconciler) awaitPredecessors(ctx context.Context, s *scope) error {
	inst := s.inst
	if cycle, err := r.related.Cycle(ctx, inst); err != nil {
		return err
	} else if cycle != nil {
		return &protocol.Failure{
			Kind: protocol.Stalled, Operation: jobs.OrderOperation, Reason: jobs.ReasonCyclicDependencies,
			Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorCyclicDependencies},
			Err: fmt.Errorf("cycle found in the data flow between installations: %s; remove one of the imports",
				strings.Join(cycle, " -{depends_on}-> ")),
		}
	}
	predecessors, err := r.related.Producers(ctx, inst)
	if err != nil || len(predecessors) == 0 {
		return err
	}
	if err := r.awaitIdle(ctx, inst, predecessors); err != nil {
		return err
	}
	for _, predecessor := range predecessors {
		if predecessor.Status.Phase == v1alpha1.PhaseSucceeded {
			continue
		}
		// What was imported anew while the job waited for others counts as used by it: one more job would fail like it.
		if _, err := r.Inputs.ChangedImports(ctx, inst); protocol.IsTransient(err) {
			return err
		}
		cause := "it has not been reconciled"
		if predecessor.Status.LastError != nil {
			cause = predecessor.Status.LastError.Message
		}
		return predecessorFailure(predecessor, cause)
	}
	inst.Status.ConsumedHash, err = r.consumedHash(ctx, inst, predecessors)
	return err
}

// awaitIdle waits while a predecessor is at work, or for roots any other that something flows from. It fails when a predecessor can never end
// the common job.
func (r *Reconciler) awaitIdle(ctx context.Context, inst *v1alpha1.Installation, predecessors []*v1alpha1.Installation) error {
	for _, predecessor := range predecessors {
		if r.installations.Stale(predecessor) {
			return protocol.ErrStop
		}
		if !inst.IsRoot() && jobs.LeavesJob(predecessor, inst.Status.JobID) {
			return predecessorFailure(predecessor, jobs.LeavesJobMessage)
		}
		if jobs.Running(inst, predecessor) {
			return protocol.Wait(jobs.OrderOperation, jobs.ReasonPredecessorUnready, "waiting for installation %s, which exports what this one imports",
				predecessor.Name)
		}
	}
	if !inst.IsRoot() {
		return nil
	}
	busy, err := r.upstreamAtWork(ctx, inst, predecessors)
	if err != nil || busy == nil {
		return err
	}
	return protocol.Wait(jobs.OrderOperation, jobs.ReasonPredecessorUnready, "waiting for installation %s, from which something flows to what this one imports",
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
			return protocol.Stall(jobs.OrderOperation, jobs.ReasonSiblingDeleteError, "deletion of a sibling failed: installation %s: %s",
				successor.Name, jobs.LastMessage(successor.Status.LastError))
		}
	}
	if len(successors) == 0 {
		return nil
	}
	return protocol.Wait(jobs.OrderOperation, jobs.ReasonSiblingStillImports,
		"a sibling still imports some of the exports: delete installation %s, or annotate this one %s=true",
		successors[0].Name, v1alpha1.DeleteIgnoreSuccessorsAnnotation)
}

func predecessorFailure(predecessor *v1alpha1.Installation, cause string) error {
	cause, _, _ = strings.Cut(cause, "\n") // an excerpt of its template is not repeated
	return protocol.Stall(jobs.OrderOperation, jobs.ReasonPredecessorFailed, "depending on installation %s which is not succeeded: %s",
		predecessor.Name, cause)
}

// producedChange reports whether a root has to run because siblings that it imports from have finished with other values than it
// used last. One that never ran starts only if a producer finished after it was created.
func (r *Reconciler) producedChange(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	producers, err := r.related.Producers(ctx, inst)
	if err != nil || len(producers) == 0 {
		return "", err
	}
	reason, err := r.differs(ctx, inst, producers)
	if err != nil || reason == "" {
		return "", err
	}
	busy, err := r.upstreamAtWork(ctx, inst, producers)
	if err != nil || busy != nil {
		return "", err
	}
	return reason, nil
}

// upstreamAtWork returns a root, at any distance along the imports, that is at work or about to be; nil when there is none. What comes from
// there is going to change, so that whoever starts now would have to run again.
func (r *Reconciler) upstreamAtWork(
	ctx context.Context, inst *v1alpha1.Installation, producers []*v1alpha1.Installation,
) (*v1alpha1.Installation, error) {
	seen := map[types.UID]bool{inst.UID: true}
	for queue := producers; len(queue) > 0; queue = queue[1:] {
		current := queue[0]
		if seen[current.UID] || !current.DeletionTimestamp.IsZero() {
			continue
		}
		seen[current.UID] = true
		above, err := r.related.Producers(ctx, current)
		if err != nil {
			return nil, err
		}
		busy, err := r.aboutToWork(ctx, current, above)
		if err != nil || busy {
			return current, err
		}
		queue = append(queue, above...)
	}
	return nil, nil
}

// aboutToWork reports whether a root is at work, or will be because it was asked to, or because its imports, its source or its producers have other
// content.
func (r *Reconciler) aboutToWork(ctx context.Context, inst *v1alpha1.Installation, producers []*v1alpha1.Installation) (bool, error) {
	if !inst.Status.IsIdle() || jobs.WillStart(inst) {
		return true, nil
	}
	if jobs.StartsNothing(inst) {
		return false, nil
	}
	// What nobody can read keeps that Installation from working, but not those behind it.
	if reason, err := r.Inputs.ChangedImports(ctx, inst.DeepCopy()); reason != "" || protocol.IsTransient(err) {
		return reason != "", err
	}
	if jobs.FollowsChanges(inst) {
		if reason, err := r.changedSource(ctx, inst.DeepCopy()); reason != "" || protocol.IsTransient(err) {
			return reason != "", err
		}
	}
	if len(producers) == 0 {
		return false, nil
	}
	reason, err := r.differs(ctx, inst, producers)
	return reason != "", err
}

// differs says why an idle root has to run because of its producers, all of which have succeeded and are idle; empty when it need not.
func (r *Reconciler) differs(ctx context.Context, inst *v1alpha1.Installation, producers []*v1alpha1.Installation) (string, error) {
	for _, producer := range producers {
		if jobs.Running(inst, producer) || producer.Status.Phase != v1alpha1.PhaseSucceeded {
			return "", nil
		}
	}
	name := producers[0].Name
	last, started := inst.Status.LastError, (*metav1.Time)(nil)
	if times := inst.Status.TransitionTimes; times != nil {
		started = times.TriggerTime
	}
	switch {
	case inst.Status.JobID == "":
		if !finished(producers, func(at time.Time) bool { return !at.Before(inst.CreationTimestamp.Time) }) {
			return "", nil
		}
		return "installation " + name + " has finished", nil
	case inst.Generation != inst.Status.ObservedGeneration && !finished(producers, func(at time.Time) bool { return started != nil && at.After(started.Time) }):
		return "", nil // the imports of the new spec are others, which is no work of a producer
	case inst.Status.Phase == v1alpha1.PhaseFailed && last != nil && last.Operation == jobs.OrderOperation:
		cycle, err := r.related.Cycle(ctx, inst)
		if err != nil || cycle != nil {
			return "", err
		}
		return "installation " + name + " has succeeded", nil
	}
	consumed, err := r.consumedHash(ctx, inst, producers)
	if err != nil || consumed == inst.Status.ConsumedHash {
		return "", err
	}
	return "exports of installation " + name + " changed", nil
}

// finished reports whether a producer finished its last job at a time that is as asked for.
func finished(producers []*v1alpha1.Installation, is func(at time.Time) bool) bool {
	return slices.ContainsFunc(producers, func(producer *v1alpha1.Installation) bool {
		times := producer.Status.TransitionTimes
		return times != nil && times.FinishedTime != nil && is(times.FinishedTime.Time)
	})
}

// consumedHash returns a hash over the exports of siblings that an Installation imports.
func (r *Reconciler) consumedHash(ctx context.Context, inst *v1alpha1.Installation, producers []*v1alpha1.Installation) (string, error) {
	produced := map[string]bool{}
	for _, producer := range producers {
		for _, key := range relations.ExportsOf(producer) {
			produced[key] = true
		}
	}
	hashes := map[string]string{}
	for _, key := range relations.ImportsOf(inst) {
		if !produced[key] {
			continue
		}
		hash, err := r.contentHash(ctx, inst.Namespace, key)
		if err != nil {
			return "", err
		}
		hashes[key] = hash
	}
	return relations.HashOf(hashes), nil
}

// contentHash returns the hash that an exported object carries, empty when it is not there.
func (r *Reconciler) contentHash(ctx context.Context, namespace, key string) (string, error) {
	object, name := relations.ObjectOfKey(key)
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	if value, ok := object.(*v1alpha1.DataObject); ok && err == nil {
		return storage.Hash(ctx, r.Live, value)
	}
	return object.GetAnnotations()[v1alpha1.HashAnnotation], client.IgnoreNotFound(err)
}

// takeAsConsumed records what siblings export now as what the last job consumed, unless a job for it was still to come.
func (r *Reconciler) takeAsConsumed(ctx context.Context, inst *v1alpha1.Installation) error {
	// A producer may have ended its job and not yet have started its consumer when it was taken over.
	owesTrigger := func(producer *v1alpha1.Installation) bool {
		return inst.IsRoot() && slices.Contains(producer.Status.DependentsToTrigger, v1alpha1.DependentToTrigger{Name: inst.Name})
	}
	producers, err := r.related.Producers(ctx, inst)
	if err != nil || len(producers) == 0 || slices.ContainsFunc(producers, owesTrigger) {
		return err
	}
	inst.Status.ConsumedHash, err = r.consumedHash(ctx, inst, producers)
	return err
}

// takeOver completes in memory the status that the controllers of Gardener Landscaper left: nothing but their last job is known, and that
// counts. An idle Installation gets the condition that shows its result, and what siblings export now counts as consumed, so that no job
// starts. Conditions of the former kind go. A running job goes on from its beginning, because not every child may have got it.
func (r *Reconciler) takeOver(ctx context.Context, s *scope) error {
	status := &s.inst.Status
	if status.JobID == "" || conditions.Has(s.inst, meta.ReadyCondition) {
		return nil // every job of ours begins with that condition, which Gardener Landscaper does not know
	}
	status.Conditions = nil
	switch {
	case !status.IsIdle() && !status.Phase.IsFinal() && s.inst.DeletionTimestamp.IsZero():
		protocol.SetPhase(s.inst.Job(), v1alpha1.PhaseInit, s.now)
		protocol.Progress(s.inst, meta.ProgressingReason, "a job of Gardener Landscaper is taken over")
	case status.IsIdle() && status.Phase.IsFinal():
		showResult(s.inst)
		return r.takeAsConsumed(ctx, s.inst)
	}
	return nil
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
