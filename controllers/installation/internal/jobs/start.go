// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/uuid"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// DeletionRequested reports whether a person, or the parent by its next job, asks for another attempt to delete.
func DeletionRequested(inst, parent *v1alpha1.Installation) bool {
	return Requested(inst) || JobFromParent(inst, parent) != ""
}

// DeletionJob returns the running job of the parent for a sub-installation that the parent deletes, and a new one otherwise: also when the
// sub-installation and its children have had that job already, because the spec of the parent changed while it was applied.
func DeletionJob(inst, parent *v1alpha1.Installation) string {
	if parent != nil && !parent.Status.IsIdle() && !had(inst, parent.Status.JobID) {
		return parent.Status.JobID
	}
	return uuid.NewString()
}

// ChangedDuringJobCondition is True while the children of an Installation are not made from one state of its spec, sources and imports: a
// part of them already had the job when these changed. On a root it lasts until the job ends, and another follows.
const ChangedDuringJobCondition = "ChangedDuringJob"

// ImportMissingCondition is True while something is missing that the last job imported.
const ImportMissingCondition = "ImportMissing"

const (
	// ReasonAnotherJob is why an Installation is not ready while another job follows.
	ReasonAnotherJob = "AnotherJobFollows"
	// ChangedMessage says that the job has not made all from the same.
	ChangedMessage = "the spec, a source or an import changed while the job made sub-installations and deploy items; another job follows"
)

// NextJob returns the job that follows one that has just ended, and why: of a nested Installation that which the parent has asked for
// meanwhile, of a root another when its spec, or what else its children are made from, changed meanwhile. It is "" when none follows. None
// does behind a job that a person interrupts here: the operation is still there and would interrupt that one as well.
func NextJob(inst, parent *v1alpha1.Installation) (job, message string) {
	switch {
	case !inst.DeletionTimestamp.IsZero(), inst.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt:
		return "", ""
	case !inst.IsRoot():
		if job = JobFromParent(inst, parent); job == "" {
			return "", ""
		}
		return job, "another job of the parent follows"
	case inst.Spec.Suspend:
		return "", ""
	case inst.Generation != inst.Status.ObservedGeneration:
		return uuid.NewString(), "the spec changed while a job ran; another job follows"
	case conditions.IsTrue(inst, ChangedDuringJobCondition):
		return uuid.NewString(), ChangedMessage
	}
	return "", ""
}

// NewJobID returns the parent's job for nested Installations and a new one for roots.
func NewJobID(inst *v1alpha1.Installation) string {
	if inst.IsRoot() {
		return uuid.NewString()
	}
	return inst.Annotations[v1alpha1.JobAnnotation]
}

// Cause is one thing that may ask for a job.
type Cause int

const (
	// parentsJob: the parent wrote the spec for a job.
	ParentsJob Cause = iota
	// importedContent: siblings export something else, or other content was imported where an annotation asks for it.
	ImportedContent
	// request: an operation, or the annotation of Flux.
	Request
	// clearWay: the Execution of somebody else is gone.
	ClearWay
	// freeExports: exports that another Installation held are free.
	FreeExports
	// lostExports: somebody has deleted an export, here or below.
	LostExports
	// clock: spec.automaticReconcile.
	Clock
	// newSpec: a generation that no job has run for.
	NewSpec
	// healedImports: what the last job missed is there, or what it failed over has changed.
	HealedImports
	// otherContext: the Context may end the failure of the last job.
	OtherContext
	// newSource: a source has other content.
	newSource
)

// Causes returns what may ask an idle Installation for a job, in the order in which it is looked at: what needs sources to be read comes last.
// A suspended one is asked for nothing.
func Causes(inst *v1alpha1.Installation) []Cause {
	changed := inst.Generation != inst.Status.ObservedGeneration
	switch {
	case !inst.IsRoot():
		return []Cause{ParentsJob}
	case inst.Spec.Suspend:
		return nil
	}
	found := []Cause{ImportedContent, Request, ClearWay, FreeExports}
	if !changed {
		found = append(found, LostExports, Clock)
	}
	if !FollowsChanges(inst) {
		return found
	}
	return append(found, ChangesOf(inst)...)
}

// Requested reports whether the annotation of Flux asks for a job that status has not answered.
func Requested(inst *v1alpha1.Installation) bool {
	token, ok := meta.ReconcileAnnotationValue(inst.Annotations)
	return ok && token != inst.Status.LastHandledReconcileAt
}

// FollowsChangesCondition is on a root whose changes start jobs by default: True once they do, False while one that has waited until then has its
// instant ahead, Unknown while the Context that decides is not there.
const FollowsChangesCondition = "FollowsChanges"

// ReasonChangesScheduled says that a change which has waited starts a job at a named instant.
const ReasonChangesScheduled = "ChangesScheduled"

// TakesDefault reports whether an Installation does not say itself whether changes start a job.
func TakesDefault(inst *v1alpha1.Installation) bool {
	own := inst.Annotations[v1alpha1.ReconcileIfChangedAnnotation]
	return inst.IsRoot() && own != "true" && own != "false"
}

// Follow shows that changes start jobs by default, and what makes it the default.
func Follow(inst *v1alpha1.Installation, by string) {
	conditions.MarkTrue(inst, FollowsChangesCondition, meta.SucceededReason, "changes start jobs by default: %s", by)
}

// ChangesOf returns what may ask an idle root for a job only because it follows changes.
func ChangesOf(inst *v1alpha1.Installation) []Cause {
	if inst.Generation != inst.Status.ObservedGeneration {
		return []Cause{NewSpec}
	}
	return []Cause{HealedImports, OtherContext, newSource}
}

// FollowsChanges reports whether changes start a job by themselves. An operation that is kept in Git means the same.
func FollowsChanges(inst *v1alpha1.Installation) bool {
	return inst.Annotations[v1alpha1.ReconcileIfChangedAnnotation] == "true" ||
		TakesDefault(inst) && conditions.IsTrue(inst, FollowsChangesCondition) ||
		inst.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationReconcile && conditions.IsTrue(inst, OperationInGitCondition)
}

// ReasonIf returns the reason for a job where there is one, and otherwise "".
func ReasonIf(started bool, reason string) string {
	if started {
		return reason
	}
	return ""
}

// KeepsDeployed reports whether deletion leaves what was deployed in place. A suspended object does, as everywhere in Flux.
func KeepsDeployed(inst *v1alpha1.Installation) bool {
	return inst.Spec.Suspend || inst.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan ||
		inst.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] == "true"
}
