// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/conditions"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	orderOperation            = "Order"
	reasonPredecessorFailed   = "PredecessorFailed"
	reasonPredecessorUnready  = "NotCompletedDependents"
	reasonCyclicDependencies  = "CyclicDependencies"
	reasonSiblingStillImports = "SiblingImport"
	reasonSiblingDeleteError  = "SiblingDeleteError"
)

// awaitPredecessors waits until every sibling that exports what this Installation imports has finished, and fails when one
// has failed.
func (r *Reconciler) awaitPredecessors(ctx context.Context, s *scope) error {
	if cycle, err := r.cycle(ctx, s.inst); err != nil || cycle != nil {
		return cycleFailure(cycle, err)
	}
	predecessors, err := r.predecessors(ctx, s.inst)
	if err != nil || len(predecessors) == 0 {
		return err
	}
	if err := r.awaitIdle(ctx, s, predecessors); err != nil {
		return err
	}
	for _, predecessor := range predecessors {
		if predecessor.Status.Phase != v1alpha1.PhaseSucceeded {
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
		if !s.inst.IsRoot() && leavesJob(predecessor, s.inst.Status.JobID) {
			return predecessorFailure(predecessor, leavesJobMessage)
		}
		if running(s.inst, predecessor) {
			return kit.Wait(orderOperation, reasonPredecessorUnready, "waiting for installation %s, which exports what this one imports",
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
	return kit.Wait(orderOperation, reasonPredecessorUnready, "waiting for installation %s, from which something flows to what this one imports",
		busy.Name)
}

// running reports whether a predecessor is at work, or about to be. A nested one has to end the job of the common parent; a root
// has to be idle with nothing pending.
func running(inst, predecessor *v1alpha1.Installation) bool {
	if !inst.IsRoot() {
		return predecessor.Status.JobIDFinished != inst.Status.JobID
	}
	return !predecessor.Status.IsIdle() || willStart(predecessor)
}

// willStart tells from the object alone whether a job is about to start.
func willStart(inst *v1alpha1.Installation) bool {
	if inst.Spec.Suspend || !inst.DeletionTimestamp.IsZero() {
		return false
	}
	if requested(inst) {
		return true
	}
	if meaningOf(inst) == asksForJob && !conditions.IsTrue(inst, OperationInGitCondition) {
		return true
	}
	return followsChanges(inst) && inst.Generation != inst.Status.ObservedGeneration
}

// causeOf returns why a predecessor has not succeeded.
func causeOf(predecessor *v1alpha1.Installation) string {
	if predecessor.Status.LastError != nil {
		return predecessor.Status.LastError.Message
	}
	return "it has not been reconciled"
}

func predecessorFailure(predecessor *v1alpha1.Installation, cause string) error {
	return kit.Stall(orderOperation, reasonPredecessorFailed, "depending on installation %s which is not succeeded: %s",
		predecessor.Name, cause)
}

// predecessors returns the siblings that export what an Installation imports, by name.
func (r *Reconciler) predecessors(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	return r.siblingsBy(ctx, inst, exportIndex, importsOf(inst))
}

// successors returns the siblings that import what an Installation exports, by name.
func (r *Reconciler) successors(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	return r.siblingsBy(ctx, inst, importIndex, exportsOf(inst))
}

// downstream returns the roots that something flows to, at any distance; of nested Installations only the successors.
func (r *Reconciler) downstream(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	found, err := r.successors(ctx, inst)
	if err != nil || !inst.IsRoot() {
		return found, err
	}
	seen := map[types.UID]bool{inst.UID: true}
	var all []*v1alpha1.Installation
	for queue := found; len(queue) > 0; queue = queue[1:] {
		if current := queue[0]; !seen[current.UID] {
			seen[current.UID] = true
			all = append(all, current)
			further, err := r.successors(ctx, current)
			if err != nil {
				return nil, err
			}
			queue = append(queue, further...)
		}
	}
	return all, nil
}

// siblingsBy returns siblings from an index. They are shared with the cache and must not be changed.
func (r *Reconciler) siblingsBy(ctx context.Context, inst *v1alpha1.Installation, index string, keys []string) ([]*v1alpha1.Installation, error) {
	found := map[string]*v1alpha1.Installation{}
	for _, key := range keys {
		list := &v1alpha1.InstallationList{}
		err := r.List(ctx, list, client.InNamespace(inst.Namespace), client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if other := &list.Items[i]; other.UID != inst.UID && parentOf(other) == parentOf(inst) {
				found[other.Name] = other
			}
		}
	}
	siblings := make([]*v1alpha1.Installation, 0, len(found))
	for _, name := range sortedKeys(found) {
		siblings = append(siblings, found[name])
	}
	return siblings, nil
}

// parentOf returns the name of the Installation that an Installation names as its owner, empty for roots.
func parentOf(inst *v1alpha1.Installation) string {
	if owner := inst.ParentReference(); owner != nil {
		return owner.Name
	}
	return ""
}

// exportsOf indexes Installations by the objects of their namespace that they export.
func exportsOf(obj client.Object) []string {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	var keys []string
	scope := scopeOf(inst)
	for i := range inst.Spec.Exports.Data {
		keys = append(keys, "DataObject/"+kit.DataName(scope, inst.Spec.Exports.Data[i].DataRef))
	}
	for i := range inst.Spec.Exports.Targets {
		keys = append(keys, "Target/"+kit.DataName(scope, inst.Spec.Exports.Targets[i].Target))
	}
	return keys
}

// cycle follows the predecessors and returns the names along a way that leads back, nil when there is none.
func (r *Reconciler) cycle(ctx context.Context, inst *v1alpha1.Installation) ([]string, error) {
	if importsOwnExport(inst) {
		return []string{inst.Name, inst.Name}, nil
	}
	walk := &cycleWalk{reconciler: r, start: inst, done: map[string]bool{}}
	found, err := walk.from(ctx, inst)
	if err != nil || !found {
		return nil, err
	}
	return append(walk.path, inst.Name), nil
}

type cycleWalk struct {
	reconciler *Reconciler
	start      *v1alpha1.Installation
	path       []string
	done       map[string]bool
}

func (w *cycleWalk) from(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	w.done[inst.Name] = true
	w.path = append(w.path, inst.Name)
	predecessors, err := w.reconciler.predecessors(ctx, inst)
	if err != nil {
		return false, err
	}
	for _, predecessor := range predecessors {
		if predecessor.UID == w.start.UID {
			return true, nil
		}
		if w.done[predecessor.Name] {
			continue
		}
		if found, err := w.from(ctx, predecessor); err != nil || found {
			return found, err
		}
	}
	w.path = slices.Delete(w.path, len(w.path)-1, len(w.path))
	return false, nil
}

func cycleFailure(cycle []string, err error) error {
	if err != nil {
		return err
	}
	return &kit.Failure{
		Kind: kit.Stalled, Operation: orderOperation, Reason: reasonCyclicDependencies,
		Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorCyclicDependencies},
		Err: fmt.Errorf("cycle found in the data flow between installations: %s; remove one of the imports",
			strings.Join(cycle, " -{depends_on}-> ")),
	}
}

// awaitSuccessors holds a deletion back while a sibling still imports what this Installation exports, unless all of a circle are being deleted.
func (r *Reconciler) awaitSuccessors(ctx context.Context, s *scope) error {
	if s.childrenInDeletion() || s.inst.Annotations[v1alpha1.DeleteIgnoreSuccessorsAnnotation] == "true" {
		return nil
	}
	successors, err := r.awaitedSuccessors(ctx, s.inst)
	if err != nil {
		return err
	}
	parent, err := r.parent(ctx, s.inst)
	if err != nil {
		return err
	}
	for _, successor := range successors {
		if failedWith(s.inst, parent, successor) {
			return kit.Stall(orderOperation, reasonSiblingDeleteError, "deletion of a sibling failed: installation %s: %s",
				successor.Name, lastMessage(successor.Status.LastError))
		}
	}
	if len(successors) == 0 {
		return nil
	}
	return kit.Wait(orderOperation, reasonSiblingStillImports,
		"a sibling still imports some of the exports: delete installation %s, or annotate this one %s=true",
		successors[0].Name, v1alpha1.DeleteIgnoreSuccessorsAnnotation)
}

// failedWith reports whether the deletion of a successor has failed in a way that fails that of an Installation, too. Of sub-installations the
// deletion of earlier jobs is about to be tried again; one that somebody deleted before the parent was deleted has a job of its own.
func failedWith(inst, parent, successor *v1alpha1.Installation) bool {
	if !deleteFailed(successor) {
		return false
	}
	finished := successor.Status.JobIDFinished
	return inst.IsRoot() || finished == inst.Status.JobID ||
		parent != nil && inDeletion(parent) && finished == parent.Status.JobID
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

// deleteFailed reports whether the last deletion job of an Installation has failed.
func deleteFailed(obj kit.JobObject) bool {
	return obj.Job().Phase == v1alpha1.PhaseDeleteFailed && obj.Job().IsIdle()
}

func lastMessage(last *v1alpha1.Error) string {
	if last == nil {
		return "unknown cause"
	}
	return last.Message
}
