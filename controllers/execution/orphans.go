// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

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
