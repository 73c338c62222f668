// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"slices"

	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// LostToRival reports whether the last job of an Installation failed because another one exports the same.
func LostToRival(inst *v1alpha1.Installation) bool {
	last := inst.Status.LastError
	return inst.Status.Phase == v1alpha1.PhaseFailed && inst.Status.IsIdle() && last != nil && last.Reason == ReasonExportOwnedByOther
}

// Claim is what an Installation may do about an export whose object another one owns.
type Claim int

const (
	// refused: the owner exports it.
	refused Claim = iota
	// early: the owner is about to get another spec in the job of the common parent.
	Early
	// inherited: the owner exports it no more.
	Inherited
	// abandoned: the owner is gone, and its object is about to be collected.
	Abandoned
)

// ClaimOf returns what an Installation may do about an export, by a key of the export index, that another one owns; nil is one that is gone. What
// the owner exports is what its present spec says, except that parents write the specs of a job one after the other.
func ClaimOf(inst, parent, owner *v1alpha1.Installation, key string) Claim {
	switch {
	case owner == nil:
		return Abandoned
	case !slices.Contains(relations.ExportsOf(owner), key):
		return Inherited
	case parent != nil && relations.ParentOf(owner) == parent.Name && isAt(parent, inst.Status.JobID) && !Given(owner, inst.Status.JobID):
		return Early
	}
	return refused
}

// Running reports whether a predecessor is at work, or about to be. A nested one has to end the job of the common parent; a root
// has to be idle with nothing pending.
func Running(inst, predecessor *v1alpha1.Installation) bool {
	if !inst.IsRoot() {
		return predecessor.Status.JobIDFinished != inst.Status.JobID
	}
	return !predecessor.Status.IsIdle() || WillStart(predecessor)
}

// WillStart tells from the object alone whether a job is about to start.
func WillStart(inst *v1alpha1.Installation) bool {
	if inst.Spec.Suspend || !inst.DeletionTimestamp.IsZero() {
		return false
	}
	if Requested(inst) {
		return true
	}
	if MeaningOf(inst) == asksForJob && !conditions.IsTrue(inst, OperationInGitCondition) {
		return true
	}
	return isUnseen(inst) || FollowsChanges(inst) && inst.Generation != inst.Status.ObservedGeneration
}

// isUnseen reports whether nobody has looked at an Installation yet. The first look shows whether it starts by itself, which Context and namespace decide, too.
func isUnseen(inst *v1alpha1.Installation) bool {
	return inst.Status.JobID == "" && len(inst.Status.Conditions) == 0 && inst.Annotations[v1alpha1.IgnoreAnnotation] != "true"
}

// FailedWith reports whether the deletion of a successor has failed in a way that fails that of an Installation, too. Of sub-installations the
// deletion of earlier jobs is about to be tried again; one that somebody deleted before the parent was deleted has a job of its own.
func FailedWith(inst, parent, successor *v1alpha1.Installation) bool {
	if !DeleteFailed(successor) {
		return false
	}
	finished := successor.Status.JobIDFinished
	return inst.IsRoot() || finished == inst.Status.JobID ||
		parent != nil && relations.InDeletion(parent) && finished == parent.Status.JobID
}

// DeleteFailed reports whether the last deletion job of an Installation has failed.
func DeleteFailed(obj kit.JobObject) bool {
	return obj.Job().Phase == v1alpha1.PhaseDeleteFailed && obj.Job().IsIdle()
}

// LastMessage returns the message of an error of the status.
func LastMessage(last *v1alpha1.Error) string {
	if last == nil {
		return "unknown cause"
	}
	return last.Message
}
