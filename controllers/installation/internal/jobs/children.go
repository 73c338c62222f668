// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// CauseBelow returns why the first child of which a job is tried again is not done, with the way to it, or else what the first one waits for that is no
// sibling of it.
func CauseBelow(job string, execution *v1alpha1.Execution, children map[string]*v1alpha1.Installation) (cause kit.Cause) {
	var found []kit.Cause
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

func causeAt(child kit.JobObject, job string) kit.Cause {
	if child.Job().JobID != job {
		return kit.Cause{}
	}
	return kit.CauseOf(child)
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

func endsFirst(job, kind string, child kit.JobObject) string {
	if child.GetDeletionTimestamp().IsZero() || child.Job().IsIdle() || child.Job().JobID == job {
		return ""
	}
	found := fmt.Sprintf("%s %s is being deleted and still has a job of its own, which has to end first", kind, child.GetName())
	if cause := kit.CauseOf(child); cause.Message != "" {
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
		return kit.ErrStop
	case status.Phase.IsFailed():
		return ExecutionFailure(execution)
	case !execution.DeletionTimestamp.IsZero():
		return kit.ErrStop
	case status.Phase == v1alpha1.PhaseSucceeded:
		return nil
	}
	return ExecutionFailure(execution)
}

// ExecutionFailure passes the cause of a failed Execution on, with the way to it.
func ExecutionFailure(execution *v1alpha1.Execution) *kit.Failure {
	failure := &kit.Failure{Kind: kit.Stalled, Operation: Operation, Reason: "ExecutionFailed"}
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
func IsStuck(child kit.JobObject) bool {
	if child.Job().IsIdle() || child.Job().Phase != v1alpha1.PhaseProgressing || !child.GetDeletionTimestamp().IsZero() || !kit.CauseOf(child).IsStuck() {
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
func Given(child kit.JobObject, job string) bool {
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
func IsInterruptedIdle(child kit.JobObject) bool {
	return child.Job().IsIdle() && child.GetAnnotations()[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt
}

// Unfinished is what lastError shows while children are at work; its codes say that it is no error.
var Unfinished = &kit.Failure{
	Operation: Operation, Reason: meta.ProgressingReason, Err: errors.New("the deploy items are not finished"),
	Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorUnfinished, v1alpha1.ErrorForInfoOnly, v1alpha1.ErrorNoRetry},
}

// IsUnfinished reports whether an error only says that children are at work.
func IsUnfinished(last *v1alpha1.Error) bool {
	return last != nil && last.Operation == Unfinished.Operation && last.Reason == Unfinished.Reason
}
