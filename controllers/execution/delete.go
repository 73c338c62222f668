// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// decideDeletion starts the deletion job: that of the Installation when it is being deleted too, else an own one. A job that
// still applies ends first.
func (r *Reconciler) decideDeletion(ctx context.Context, s *scope) error {
	if !slices.Contains(s.execution.Finalizers, v1alpha1.Finalizer) || protocol.IsOrphaning(s.execution) {
		return protocol.ErrStop
	}
	status := &s.execution.Status
	if !status.IsIdle() && status.Phase.IsDeletion() && !status.Phase.IsFinal() {
		return r.forgetRequest(ctx, s)
	}
	if !status.IsIdle() && status.Phase == v1alpha1.PhaseProgressing {
		return r.endRunning(ctx, s)
	}
	if held, err := r.isHeldBack(ctx, s.execution); err != nil || held {
		return stopUnless(err)
	}
	job, given, err := r.deletionJob(ctx, s)
	if err != nil {
		return err
	}
	if job == status.JobIDFinished {
		return r.dropOperation(ctx, s)
	}
	if !given && isLeftBehind(s.execution) {
		if err := r.patchMetadata(ctx, s, dropped()); err != nil {
			return err
		}
	}
	status.AllItemsBegan = provesJobs(s.execution)
	s.begin(job)
	protocol.Progress(s.execution, protocol.ReasonDeleting, deletingMessage)
	return r.writeStatus(ctx, s)
}

// isHeldBack reports whether the garbage collector has deleted the Execution before its Installation is ready to go. Another cache than that of
// Executions shows Installations, so only the API server can say that one is not in deletion.
func (r *Reconciler) isHeldBack(ctx context.Context, execution *v1alpha1.Execution) (bool, error) {
	if !protocol.InForeground(execution) {
		return false, nil
	}
	parent, err := parentOf(ctx, r.Client, execution)
	if err == nil && parent != nil && parent.DeletionTimestamp.IsZero() {
		parent, err = parentOf(ctx, r.Live, execution)
	}
	return protocol.IsHeldBack(execution, parent), err
}

func stopUnless(err error) error {
	if err != nil {
		return err
	}
	return protocol.ErrStop
}

// deletionJob returns the job under which to delete, and whether the Installation has given it: that removes an interruption that was left behind
// before. After a failed deletion only a new job of the Installation starts another, or a person where there is no Installation.
func (r *Reconciler) deletionJob(ctx context.Context, s *scope) (job string, given bool, err error) {
	status := &s.execution.Status
	if !status.IsIdle() {
		return status.JobID, false, nil
	}
	job, err = jobOfParent(ctx, r.Client, s.execution)
	if err != nil || job != "" {
		return job, job != "", err
	}
	if status.Phase == v1alpha1.PhaseDeleteFailed && isFree(s) {
		return uuid.NewString(), false, nil
	}
	if status.Phase == v1alpha1.PhaseDeleteFailed && !isRequested(s.execution) {
		return status.JobIDFinished, false, nil
	}
	if status.Phase == v1alpha1.PhaseDeleteFailed {
		parent, err := parentOf(ctx, r.Live, s.execution)
		if err != nil || parent != nil {
			return status.JobIDFinished, false, err
		}
		return uuid.NewString(), false, nil
	}
	// Another cache than that of Executions shows Installations. Whoever interrupted a job of its own would be told that the deletion has ended.
	job, err = jobOfParent(ctx, r.Live, s.execution)
	if err != nil || job != "" {
		return job, job != "", err
	}
	if left := s.execution.DeletionTimestamp.Add(ownerTime).Sub(s.now); left > 0 && left <= ownerTime && protocol.ControllerOf(s.execution, "Installation") == nil {
		s.requeue = left
		return "", false, protocol.ErrStop
	}
	return uuid.NewString(), false, nil
}

// ownerTime is how long after its deletion an Execution that no Installation has waits for the job that whoever made it gives it: at least a second,
// because the time of the deletion is in whole seconds.
const ownerTime = 2 * time.Second

// isRequested reports whether a person asks for another job.
// uninstallOperation is of a deletion that failed because that of a deploy item did.
const uninstallOperation = "Uninstall"

// isFree reports whether a deletion failed because of a deploy item and none is left that has failed, or that has ended its uninstall and is still
// there: whatever held it has gone. Where no item is left at all, nothing can have held it that is still there; releases before 0.1.0 did not record why.
func isFree(s *scope) bool {
	last := s.execution.Status.LastError
	return last != nil && (last.Operation == uninstallOperation || len(s.all) == 0) && !slices.ContainsFunc(s.all, func(item *v1alpha1.DeployItem) bool {
		return item.Status.IsIdle() && item.Status.Phase.IsFailed() || uninstallOf(item, s.execution.Status.JobIDFinished) == hasFailed
	})
}

func isRequested(execution *v1alpha1.Execution) bool {
	return execution.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationReconcile
}

// forgetRequest removes the request for a deletion that runs by now.
func (r *Reconciler) forgetRequest(ctx context.Context, s *scope) error {
	if !isRequested(s.execution) {
		return nil
	}
	return r.patchMetadata(ctx, s, dropped())
}

// jobOfParent returns the job under which the Installation that owns an Execution is being deleted; "" when there is none.
func jobOfParent(ctx context.Context, reader client.Reader, execution *v1alpha1.Execution) (string, error) {
	parent, err := parentOf(ctx, reader, execution)
	if err != nil || parent == nil || !parent.Status.Phase.IsDeletion() || parent.Status.IsIdle() {
		return "", err
	}
	return parent.Status.JobID, nil
}

// parentOf returns the Installation that owns an Execution, nil when there is none.
func parentOf(ctx context.Context, reader client.Reader, execution *v1alpha1.Execution) (*v1alpha1.Installation, error) {
	owner := protocol.ControllerOf(execution, "Installation")
	if owner == nil {
		return nil, nil
	}
	inst := &v1alpha1.Installation{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: execution.Namespace, Name: owner.Name}, inst)
	if apierrors.IsNotFound(err) || err == nil && inst.UID != owner.UID {
		return nil, nil
	}
	return inst, err
}

// endRunning lets a job that still applies end before the deletion begins: nothing new is started. It always stops. The templates
// are read so that an item that was just created is waited for. The job fails, but it is not the deletion that failed.
func (r *Reconciler) endRunning(ctx context.Context, s *scope) error {
	defer func() {
		if s.failed {
			protocol.SetPhase(s.execution.Job(), v1alpha1.PhaseFailed, s.now)
		}
	}()
	_ = readTemplates(ctx, s) // templates that cannot be read make no items
	for _, step := range []protocol.Step[*scope]{r.pairItems, r.interrupt} {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	for _, item := range slices.Concat(slices.Collect(maps.Values(s.items)), s.orphans) {
		if !item.Status.IsIdle() && !protocol.IsUntouched(item) {
			return protocol.ErrStop
		}
	}
	s.fail(protocol.Interrupted())
	return protocol.ErrStop
}

// deleteItems deletes all items and starts the deletion of each once nothing that depends on it is left.
func (r *Reconciler) deleteItems(ctx context.Context, s *scope) error {
	job := s.execution.Status.JobID
	if failed, running := failedUninstall(s.orphans, job); failed != nil {
		if !running {
			failure := itemFailure(failed)
			failure.Operation = uninstallOperation
			s.fail(failure)
		}
		return protocol.ErrStop
	}
	for _, item := range deletable(s.orphans) {
		if err := r.deleteItem(ctx, s, item); err != nil {
			return err
		}
	}
	return s.awaitOrphans(deletingMessage)
}

// failedUninstall returns the first item whose deletion has failed in the job, and whether another still runs it.
func failedUninstall(items []*v1alpha1.DeployItem, job string) (failed *v1alpha1.DeployItem, running bool) {
	for _, item := range items {
		if item.Status.JobID == job && !item.Status.IsIdle() {
			running = true
		}
		if failed == nil && uninstallOf(item, job) == hasFailed {
			failed = item
		}
	}
	return failed, running
}

// deletable returns the items whose deletion can go on: those that nobody has deleted yet, and those that none of the others depends on.
// When that leaves none, because they depend on each other in a circle, the order counts for nothing.
func deletable(items []*v1alpha1.DeployItem) []*v1alpha1.DeployItem {
	dependents := map[string]int{} // how many of the items depend on a template
	for _, item := range items {
		for name := range dependenciesOf(item) {
			dependents[name]++
		}
	}
	next := slices.DeleteFunc(slices.Clone(items), func(item *v1alpha1.DeployItem) bool {
		return !item.DeletionTimestamp.IsZero() && isNeeded(item, dependents)
	})
	if len(next) == 0 {
		return items
	}
	return next
}

// dependenciesOf returns the names of the templates that an item depends on.
func dependenciesOf(item *v1alpha1.DeployItem) map[string]bool {
	all := map[string]bool{}
	for name := range strings.SplitSeq(item.Annotations[v1alpha1.DependsOnAnnotation], ",") {
		if name != "" {
			all[name] = true
		}
	}
	return all
}

// isNeeded reports whether one of the items, and another than the given one, depends on it.
func isNeeded(item *v1alpha1.DeployItem, dependents map[string]int) bool {
	name := templateOf(item)
	if execution := protocol.ControllerOf(item, "Execution"); execution != nil {
		name = madeFrom(item, execution.Name, maps.Keys(dependents))
	}
	others := dependents[name]
	if dependenciesOf(item)[name] {
		others--
	}
	return others > 0
}

// release lets the Execution go once no item is left.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	if err := r.patchMetadata(ctx, s, protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	r.executions.Released(s.execution)
	s.execution.Status = *s.persisted
	return nil
}

// uninstall says what is left to do for an item that has to go.
type uninstall int

const (
	// toDelete is an item that nobody has deleted yet.
	toDelete uninstall = iota
	// toStart is an item in deletion whose deployer has not got the running job for it.
	toStart
	// underWay is an item whose deployer is at work, or that runs another job to its end first.
	underWay
	// hasFailed is an item that has ended the running job and is still there.
	hasFailed
)

// uninstallOf returns what is left to do under a job for an item that has to go. An item that had succeeded in the job before it was
// deleted gets the job once more, because its deployer has not uninstalled it yet.
func uninstallOf(item *v1alpha1.DeployItem, job string) uninstall {
	switch {
	case item.DeletionTimestamp.IsZero():
		return toDelete
	case !item.Status.IsIdle():
		return underWay
	case item.Status.JobID != job, item.Status.Phase == v1alpha1.PhaseSucceeded && !isStartedSinceDeletion(item):
		return toStart
	}
	return hasFailed
}

// isStartedSinceDeletion reports whether the item got a job after it was deleted. Both times are whole seconds, of different clocks: startOn
// sees to it that the one is later.
func isStartedSinceDeletion(item *v1alpha1.DeployItem) bool {
	times := item.Status.TransitionTimes
	return times != nil && times.TriggerTime != nil && item.DeletionTimestamp.Before(times.TriggerTime)
}

// deleteOrphans deletes orphans and waits until they are gone: only then are others started.
func (r *Reconciler) deleteOrphans(ctx context.Context, s *scope) error {
	for _, item := range s.orphans {
		if err := r.deleteItem(ctx, s, item); err != nil {
			return err
		}
	}
	for _, item := range s.orphans {
		if uninstallOf(item, s.execution.Status.JobID) == hasFailed {
			s.fail(itemFailure(item))
			return protocol.ErrStop
		}
	}
	return s.awaitOrphans(workingMessage)
}

// awaitOrphans stops while orphans are there, and shows why the uninstallation of one is tried again, or that none is.
func (s *scope) awaitOrphans(otherwise string) error {
	if len(s.orphans) == 0 {
		return nil
	}
	s.showCause(s.orphans, otherwise)
	return protocol.ErrStop
}

// deleteItem deletes an item and hands it the running job, so that its deployer uninstalls and lets it go.
func (r *Reconciler) deleteItem(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	step := uninstallOf(item, s.execution.Status.JobID)
	if step == toDelete {
		return protocol.DeleteLive(ctx, r.Live, r.Client, item, &r.items)
	}
	if s.execution.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] == "true" || protocol.IsUntouched(item) {
		return client.IgnoreNotFound(protocol.PatchMetadata(ctx, r.Client, item, protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}))
	}
	if step != toStart {
		return nil
	}
	if err := r.setTypeBack(ctx, item); err != nil {
		return err
	}
	return r.startOn(ctx, s, item)
}

// setTypeBack gives an item that is to be uninstalled the type of its last job again where somebody has changed it: only a deployer of that type knows
// what it has deployed.
func (r *Reconciler) setTypeBack(ctx context.Context, item *v1alpha1.DeployItem) error {
	deployed := deployedType(item)
	if item.Spec.Type == deployed {
		return nil
	}
	item.Spec.Type = deployed
	if err := r.Update(ctx, item); err != nil {
		return err
	}
	r.items.Wrote(item)
	return nil
}

// startOn writes the running job into the status of an item, as the DeployItem protocol says.
func (r *Reconciler) startOn(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	now := metav1.NewTime(s.now)
	triggered := now.Rfc3339Copy()
	if deleted := item.DeletionTimestamp; deleted != nil && !deleted.Before(&triggered) {
		triggered = metav1.NewTime(deleted.Add(time.Second))
	}
	if runsByClock(item) {
		protocol.SetPhase(item.Job(), "", s.now) // else its deployer may take the new job for the running one: times are whole seconds
	}
	item.Status.JobID = s.execution.Status.JobID
	if item.Status.IsIdle() {
		item.Status.JobIDFinished = ""
	}
	item.Status.JobIDGenerationTime = &now
	item.Status.TransitionTimes = &v1alpha1.TransitionTimes{TriggerTime: &triggered}
	if conditions.Has(item, meta.ReadyCondition) { // its deployer writes conditions, so this does not stay
		protocol.Progress(item, meta.ProgressingReason, "a deployer has to take the job up")
	}
	return protocol.WriteItemStatus(ctx, r.Client, item, s.now, &r.items)
}
