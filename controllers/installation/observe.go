// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// observeExecution waits until the Execution has ended the job, and passes on why it failed.
func (r *Reconciler) observeExecution(_ context.Context, s *scope) error {
	err := judgeExecution(s.execution, s.inst.Status.JobID)
	if errors.Is(err, kit.ErrStop) {
		return s.awaitChildren()
	}
	return err
}

const (
	workingMessage  = "sub-installations and deploy items are at work"
	deletingMessage = "sub-installations and deploy items are being deleted"
)

// awaitChildren stops, and shows why the work of a child is tried again, or that none is.
func (s *scope) awaitChildren() error {
	otherwise := workingMessage
	if !s.inst.DeletionTimestamp.IsZero() {
		otherwise = deletingMessage
	}
	kit.ShowCause(s.inst, retryCause(s.inst.Status.JobID, s.execution, s.children), otherwise)
	return kit.ErrStop
}

// retryCause returns why the first child of which a job is tried again is not done, with the way to it; "" when there is none.
func retryCause(job string, execution *v1alpha1.Execution, children map[string]*v1alpha1.Installation) string {
	atJob := func(child kit.JobObject) bool { return child.Job().JobID == job && !child.Job().IsIdle() }
	if execution != nil && atJob(execution) {
		if cause := kit.RetryCause(execution); cause != "" {
			return cause
		}
	}
	for _, name := range sortedKeys(children) {
		if !atJob(children[name]) {
			continue
		}
		if cause := kit.RetryCause(children[name]); cause != "" {
			return name + ": " + cause
		}
	}
	return ""
}

// judgeExecution returns nil when an Execution has succeeded with a job or none is needed, ErrStop while it is to be waited for, and
// otherwise why it failed. One in deletion has nothing deployed, whatever its last job was, and is waited for until it is gone.
func judgeExecution(execution *v1alpha1.Execution, job string) error {
	if execution == nil {
		return nil
	}
	status := &execution.Status
	switch {
	case status.IsIdle() && status.Phase == v1alpha1.PhaseDeleteFailed:
		return executionFailure(execution)
	case status.JobIDFinished != job:
		return kit.ErrStop
	case status.Phase.IsFailed():
		return executionFailure(execution)
	case !execution.DeletionTimestamp.IsZero():
		return kit.ErrStop
	case status.Phase == v1alpha1.PhaseSucceeded:
		return nil
	}
	return executionFailure(execution)
}

// executionFailure passes the cause of a failed Execution on, with the way to it.
func executionFailure(execution *v1alpha1.Execution) *kit.Failure {
	failure := &kit.Failure{Kind: kit.Stalled, Operation: operation, Reason: "ExecutionFailed"}
	last := execution.Status.LastError
	if last == nil {
		failure.Err = fmt.Errorf("execution %s failed", execution.Name)
		return failure
	}
	failure.Reason, failure.Codes = last.Reason, last.Codes
	failure.Err = errors.New(last.Message)
	return failure
}
