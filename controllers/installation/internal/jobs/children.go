// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// CauseBelow returns why the first child of which a job is tried again is not done, with the way to it, or else what the first one waits for that is no
// sibling of it.
func CauseBelow(job string, execution *v1alpha1.Execution, children map[string]*v1alpha1.Installation) (cause protocol.Cause) {
	var found []protocol.Cause
	if execution != nil {
		found = append(found, causeAt(execution, job))
	}
	for _, name := range slices.Sorted(maps.Keys(children)) {
		found = append(found, causeAt(children[name], job).Below(name))
	}
	for _, at := range found {
		switch {
		case at.IsStuck():
			return at
		case cause.Message == "" && at.Reason != ReasonPredecessorUnready && at.Reason != ReasonSiblingStillImports:
			cause = at
		}
	}
	return cause
}

func causeAt(child protocol.JobObject, job string) protocol.Cause {
	if child.Job().JobID != job {
		return protocol.Cause{}
	}
	return protocol.CauseOf(child)
}

// EndsFirst says which of the children that are being deleted has another job than the given one, which its parent waits for: one that began when
// somebody deleted the child, or that ran then. It returns "" when none has.
func EndsFirst(job string, execution *v1alpha1.Execution, children map[string]*v1alpha1.Installation) string {
	if execution != nil {
		if found := endsFirst(job, "Execution", execution); found != "" {
			return found
		}
	}
	for _, name := range slices.Sorted(maps.Keys(children)) {
		if found := endsFirst(job, "sub-installation", children[name]); found != "" {
			return found
		}
	}
	return ""
}

func endsFirst(job, kind string, child protocol.JobObject) string {
	if child.GetDeletionTimestamp().IsZero() || child.Job().IsIdle() || child.Job().JobID == job {
		return ""
	}
	found := fmt.Sprintf("%s %s is being deleted and still has a job of its own, which has to end first", kind, child.GetName())
	if cause := protocol.CauseOf(child); cause.Message != "" {
		return found + ": " + cause.Message
	}
	if !child.Job().Phase.IsDeletion() {
		found += "; annotate it " + v1alpha1.OperationAnnotation + "=" + v1alpha1.OperationInterrupt + " to end that at once"
	}
	return found
}

// JudgeExecution returns nil when an Execution has succeeded with a job or none is needed, ErrStop while it is to be waited for, and
// otherwise why it failed. One in deletion has nothing deployed, whatever its last job was, and is waited for until it is gone.
func JudgeExecution(execution *v1alpha1.Execution, job string) error {
	if execution == nil {
		return nil
	}
	status := &execution.Status
	switch {
	case status.IsIdle() && status.Phase == v1alpha1.PhaseDeleteFailed:
		return ExecutionFailure(execution)
	case status.JobIDFinished != job:
		return protocol.ErrStop
	case status.Phase.IsFailed():
		return ExecutionFailure(execution)
	case !execution.DeletionTimestamp.IsZero():
		return protocol.ErrStop
	case status.Phase == v1alpha1.PhaseSucceeded:
		return nil
	}
	return ExecutionFailure(execution)
}

// ExecutionFailure passes the cause of a failed Execution on, with the way to it.
func ExecutionFailure(execution *v1alpha1.Execution) *protocol.Failure {
	failure := &protocol.Failure{Kind: protocol.Stalled, Operation: Operation, Reason: "ExecutionFailed"}
	last := execution.Status.LastError
	if last == nil {
		failure.Err = fmt.Errorf("execution %s failed", execution.Name)
		return failure
	}
	failure.Reason, failure.Codes = last.Reason, last.Codes
	failure.Err = errors.New(last.Message)
	return failure
}

// IsStuck reports whether a child is in the middle of a job of which some deploy item is only tried again: it waits for an object that another
// DeployItem holds, for a target that does not answer, for a quota. A sub-installation with an error of its own is not: an interruption would
// not end that.
func IsStuck(child protocol.JobObject) bool {
	if child.Job().IsIdle() || child.Job().Phase != v1alpha1.PhaseProgressing || !child.GetDeletionTimestamp().IsZero() || !protocol.CauseOf(child).IsStuck() {
		return false
	}
	inst, ok := child.(*v1alpha1.Installation)
	return !ok || IsUnfinished(inst.Status.LastError)
}

// JobFromParent returns the job that the parent wrote the annotation of a nested Installation for, when the nested one has not had it. A job
// that the parent is not at, or has not ended last, asks for nothing: it belongs to the past.
func JobFromParent(inst, parent *v1alpha1.Installation) string {
	job := inst.Annotations[v1alpha1.JobAnnotation]
	if parent == nil || job == "" || job != parent.Status.JobID || had(inst, job) {
		return ""
	}
	return job
}

// LeavesJobMessage says why a sub-installation that is being deleted fails its parent, and what to do.
const LeavesJobMessage = "it is being deleted and cannot end the job; the next job deletes it whoever imports from it and makes it anew: " +
	"annotate the root " + v1alpha1.OperationAnnotation + "=reconcile"

// LeavesJob reports whether a sub-installation can never end a job of its parent, because it is being deleted: its deletion is another job.
func LeavesJob(child *v1alpha1.Installation, job string) bool {
	return !child.DeletionTimestamp.IsZero() && child.Status.JobIDFinished != job
}

// had reports whether a job is the last that an Installation began or ended.
func had(inst *v1alpha1.Installation, job string) bool {
	return inst.Status.JobID == job || inst.Status.JobIDFinished == job
}

// Prepared reports whether all children of an Installation have the specs of its running job. With sub-installations the phase says so, without
// them the Execution does. A child that somebody deleted or took the job from meanwhile has to get it again; sub-installations that are gone or in
// deletion fail the job.
func Prepared(inst *v1alpha1.Installation, execution *v1alpha1.Execution, children map[string]*v1alpha1.Installation) bool {
	status := &inst.Status
	if status.Phase == v1alpha1.PhaseInit || execution == nil && status.ExecutionReference != nil || lostJob(inst, children) {
		return false
	}
	if execution != nil {
		return Given(execution, status.JobID)
	}
	return status.SubInstCache != nil
}

// lostJob reports whether a sub-installation that stays does not know of the running job: its status was removed, or somebody wrote another job
// into it.
func lostJob(inst *v1alpha1.Installation, children map[string]*v1alpha1.Installation) bool {
	if inst.Status.SubInstCache == nil {
		return false
	}
	return slices.ContainsFunc(inst.Status.SubInstCache.ActiveSubs, func(pair v1alpha1.SubNamePair) bool {
		child := children[pair.ObjectName]
		return child != nil && child.DeletionTimestamp.IsZero() && child.Status.JobIDFinished != inst.Status.JobID && !Given(child, inst.Status.JobID)
	})
}

// Given reports whether a child has been given a job. An Execution takes a job from the annotation only together with a new spec; in deletion
// it takes none.
func Given(child protocol.JobObject, job string) bool {
	if child.Job().JobID == job {
		return true
	}
	noted := child.GetAnnotations()[v1alpha1.JobAnnotation] == job
	if execution, ok := child.(*v1alpha1.Execution); ok && execution.DeletionTimestamp.IsZero() {
		return noted && execution.Generation != execution.Status.ObservedGeneration
	}
	return noted
}

// isAt reports whether a job is at work.
func isAt(inst *v1alpha1.Installation, job string) bool {
	return inst.Status.JobID == job && !inst.Status.IsIdle()
}

// IsInterruptedIdle reports whether an interruption is left on a child that has ended the job it was for. The child takes it away in a write of
// its own after the end, and until then it would end the next job, too: whoever gives the child a job takes it away first.
func IsInterruptedIdle(child protocol.JobObject) bool {
	return child.Job().IsIdle() && child.GetAnnotations()[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt
}

// Unfinished is what lastError shows while children are at work; its codes say that it is no error.
var Unfinished = &protocol.Failure{
	Operation: Operation, Reason: meta.ProgressingReason, Err: errors.New("the deploy items are not finished"),
	Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorUnfinished, v1alpha1.ErrorForInfoOnly, v1alpha1.ErrorNoRetry},
}

// IsUnfinished reports whether an error only says that children are at work.
func IsUnfinished(last *v1alpha1.Error) bool {
	return last != nil && last.Operation == Unfinished.Operation && last.Reason == Unfinished.Reason
}

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
	if StartsNothing(inst) || !inst.DeletionTimestamp.IsZero() {
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
	return inst.Status.JobID == "" && len(inst.Status.Conditions) == 0
}

// StartsNothing reports whether an Installation is suspended, or left alone by this controller.
func StartsNothing(inst *v1alpha1.Installation) bool {
	return inst.Spec.Suspend || inst.Annotations[v1alpha1.IgnoreAnnotation] == "true"
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
func DeleteFailed(obj protocol.JobObject) bool {
	return obj.Job().Phase == v1alpha1.PhaseDeleteFailed && obj.Job().IsIdle()
}

// LastMessage returns the message of an error of the status.
func LastMessage(last *v1alpha1.Error) string {
	if last == nil {
		return "unknown cause"
	}
	return last.Message
}

// Loss is a child that is not as the last job left it.
type Loss struct {
	// Reason is protocol.ReasonChildLost, protocol.ReasonContinuousFailed where the child is there and its deploy items have failed by the clock, or
	// protocol.ReasonExportLost.
	Reason string
	// Missing is the child to look for before anybody is told; nil where the loss is known.
	Missing client.Object
	Message string
	// Disowned is the message for the case that the missing child is there, but does not belong to the Installation any more.
	Disowned string
}

// LossOf returns what an idle Installation that has succeeded has lost since, itself or further down; nil when nothing.
func LossOf(inst *v1alpha1.Installation, execution *v1alpha1.Execution, children map[string]*v1alpha1.Installation) *Loss {
	if inst.Status.Phase != v1alpha1.PhaseSucceeded {
		return nil
	}
	if inst.Status.ExecutionReference != nil && (execution == nil || !execution.DeletionTimestamp.IsZero()) {
		return lossAt(inst, "execution", inst.Name, &v1alpha1.Execution{}, execution == nil)
	}
	if execution != nil {
		if ready := ReadyOf(execution); IsLoss(ready.Reason) {
			return &Loss{Reason: ready.Reason, Message: ready.Message}
		}
	}
	if inst.Status.SubInstCache == nil {
		return nil
	}
	for _, pair := range inst.Status.SubInstCache.ActiveSubs {
		child := children[pair.ObjectName]
		if child == nil || !child.DeletionTimestamp.IsZero() {
			return lossAt(inst, "sub-installation", pair.ObjectName, &v1alpha1.Installation{}, child == nil)
		}
		if ready := ReadyOf(child); IsLoss(ready.Reason) {
			return &Loss{Reason: ready.Reason, Message: pair.ObjectName + ": " + ready.Message}
		}
	}
	return nil
}

// IsLoss reports whether a reason of the condition Ready says that something was lost.
func IsLoss(reason string) bool {
	return reason == protocol.ReasonChildLost || reason == protocol.ReasonContinuousFailed || reason == protocol.ReasonExportLost
}

// ReadyOf returns the condition Ready, an empty one where there is none.
func ReadyOf(obj conditions.Getter) metav1.Condition {
	if ready := conditions.Get(obj, meta.ReadyCondition); ready != nil {
		return *ready
	}
	return metav1.Condition{}
}

// lossAt describes the loss of a child by its kind and name.
func lossAt(inst *v1alpha1.Installation, kind, name string, object client.Object, missing bool) *Loss {
	found := &Loss{Reason: protocol.ReasonChildLost, Message: fmt.Sprintf("%s %s was deleted, and what it had deployed may be gone: annotate the root %s=reconcile to deploy it again",
		kind, name, v1alpha1.OperationAnnotation)}
	if missing {
		object.SetName(name)
		object.SetNamespace(inst.Namespace)
		found.Missing = object
		found.Disowned = fmt.Sprintf("%s %s does not belong to this installation any more, because its owner reference was removed or changed: put that back, or "+
			"delete it and annotate the root %s=reconcile to deploy it again", kind, name, v1alpha1.OperationAnnotation)
	}
	return found
}
