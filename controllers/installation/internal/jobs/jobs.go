// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package jobs decides about jobs of Installations from objects alone: what may ask for one and which it is, whether children and siblings have
// it or have ended it, what an export and a failure mean for it. It reads and writes nothing.
package jobs

import (
	"errors"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/uuid"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// What lastError.operation names.
const (
	// Operation is of everything that has none of its own.
	Operation = "Reconcile"
	// OrderOperation is of waiting for siblings.
	OrderOperation = "Order"
	// ContextOperation is of reading the Context.
	ContextOperation = "Context"
	// ComponentOperation is of everything that is wrong with a component.
	ComponentOperation = "Component"
	// ImportOperation is of reading imports.
	ImportOperation = "Imports"
	// SatisfyOperation is of everything that rendering finds wrong with the imports.
	SatisfyOperation = "SatisfyImports"
	// RenderOperation is of everything that rendering finds wrong with the rest of the blueprint.
	RenderOperation = "Render"
	// VerifyOperation is of verifying signatures.
	VerifyOperation = "VerifySignature"
	// ExportOperation is of computing and writing exports.
	ExportOperation = "Exports"
)

// Reasons by which a job fails, where they decide on what follows.
const (
	// ReasonPredecessorFailed says that a sibling which exports what is imported has failed.
	ReasonPredecessorFailed = "PredecessorFailed"
	// ReasonPredecessorUnready says that such a sibling is at work.
	ReasonPredecessorUnready = "NotCompletedDependents"
	// ReasonCyclicDependencies says that data flows in a circle.
	ReasonCyclicDependencies = "CyclicDependencies"
	// ReasonSiblingStillImports says that a sibling imports what is exported.
	ReasonSiblingStillImports = "SiblingImport"
	// ReasonSiblingDeleteError says that such a sibling could not be deleted.
	ReasonSiblingDeleteError = "SiblingDeleteError"
	// ReasonContextIncomplete says that the Context or something that it names is missing. Its next event comes back here.
	ReasonContextIncomplete = "ContextIncomplete"
	// ReasonImportNotFound says that an import is missing, or not what it has to be.
	ReasonImportNotFound = "ImportNotFound"
	// ReasonBeyondImports says that a blueprint uses something that its Installation does not import.
	ReasonBeyondImports = "BeyondImports"
	// ReasonExportOwnedByOther says that another Installation exports an object of the same name.
	ReasonExportOwnedByOther = "ExportOwnedByOther"
	// ReasonUnverified says that nothing trusted vouches for a component or a blueprint.
	ReasonUnverified = "VerificationFailed"
	// ReasonChildrenFailed says that sub-installations have failed.
	ReasonChildrenFailed = "ChildrenFailed"
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

// OperationInGitCondition is True while Flux keeps an operation annotation on an Installation. Its message names the cure.
const OperationInGitCondition = protocol.OperationInGitCondition

// Meaning is what the operation annotation of an Installation asks for.
type Meaning int

const (
	// asksNothing: there is no annotation, or status says that a job was started for it.
	AsksNothing Meaning = iota
	// asksForJob: a job has to start, or the one that starts now answers it.
	asksForJob
	// asksInVain: nothing comes of it here, so it goes.
	AsksInVain
)

// MeaningOf returns what the operation annotation asks for while no job runs, if it is not kept in Git. The jobs of a sub-installation are those of
// its parent, but a failed deletion is tried again alone: the parent may be gone.
func MeaningOf(inst *v1alpha1.Installation) Meaning {
	switch value := inst.Annotations[v1alpha1.OperationAnnotation]; {
	case value == "", value == v1alpha1.OperationReconcile && OperationAnswered(inst):
		return AsksNothing
	case value == v1alpha1.OperationReconcile && (inst.IsRoot() || inst.Status.Phase == v1alpha1.PhaseDeleteFailed):
		return asksForJob
	}
	return AsksInVain
}

// OperationAnswered reports whether status names a job that the operation annotation has started and metadata does not say so yet: an operation
// that is still there is the one that started it. Once metadata says so, any operation is a new one.
func OperationAnswered(inst *v1alpha1.Installation) bool {
	job := inst.Status.OperationJobID
	return job != "" && inst.Annotations[v1alpha1.JobAnnotation] != job
}

// CloseOperation takes the job of an operation out of status once metadata names it and the job has ended. From then on an operation is a new
// one also where a client has replaced all annotations, that of the job with them.
func CloseOperation(inst *v1alpha1.Installation) {
	ended := inst.Status.JobID != inst.Status.OperationJobID || inst.Status.JobIDFinished == inst.Status.OperationJobID
	if ended && !OperationAnswered(inst) {
		inst.Status.OperationJobID = ""
	}
}

// FailedBelow reports whether the last job failed because of a sub-installation.
func FailedBelow(inst *v1alpha1.Installation) bool {
	last := inst.Status.LastError
	return inst.Status.Phase == v1alpha1.PhaseFailed && last != nil && last.Reason == ReasonChildrenFailed
}

// FailedOverValue reports whether the last job of an Installation failed over what its blueprint makes of the imports, as schemas, mappings and templates do:
// other content may end that.
func FailedOverValue(inst *v1alpha1.Installation) bool {
	if inst.Status.Phase != v1alpha1.PhaseFailed || inst.Status.LastError == nil {
		return false
	}
	switch inst.Status.LastError.Operation {
	case SatisfyOperation, RenderOperation, ExportOperation:
		return true
	}
	return false
}

// MayHeal reports whether any event of the cluster may start an Installation again: a sub-installation is started by its root alone.
func MayHeal(inst *v1alpha1.Installation) bool {
	return inst.IsRoot() && inst.DeletionTimestamp.IsZero() && !inst.Spec.Suspend
}

// Heals reports whether an event of the cluster starts a root again that failed for a reason: what it is missing may come, or who it waits for
// may recover. Most of that starts only those that follow changes.
func Heals(inst *v1alpha1.Installation, operation, reason string) bool {
	if !MayHeal(inst) {
		return false
	}
	switch {
	case operation == OrderOperation && reason == ReasonPredecessorFailed:
		return true
	case operation == ImportOperation && reason == ReasonImportNotFound,
		operation == ContextOperation && reason == ReasonContextIncomplete,
		reason == string(flux.NotInstalled), reason == ReasonBeyondImports:
		return FollowsChanges(inst)
	}
	return false
}

// HealTogether reports whether all that have failed among some sub-installations miss a part of their Context, or may not use the namespace by it, or
// wait for one of those. Nothing else that a sub-installation fails for starts its root again.
func HealTogether(below []*v1alpha1.Installation) bool {
	found := false
	for _, child := range below {
		last := child.Status.LastError
		switch {
		case child.Status.Phase != v1alpha1.PhaseFailed, last != nil && last.Reason == ReasonPredecessorFailed:
		case last != nil && last.Reason == ReasonBeyondImports,
			last != nil && last.Operation == ContextOperation && last.Reason == ReasonContextIncomplete:
			found = true
		default:
			return false
		}
	}
	return found
}

// FailureOf returns the failure that lastError describes.
func FailureOf(inst *v1alpha1.Installation) *protocol.Failure {
	last := inst.Status.LastError
	return &protocol.Failure{
		Kind: protocol.Stalled, Operation: last.Operation, Reason: last.Reason, Codes: last.Codes, Err: errors.New(last.Message),
		Heals: Heals(inst, last.Operation, last.Reason),
	}
}
