// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// observeExecution waits until the Execution has ended the job, and passes on why it failed.
func (r *Reconciler) observeExecution(_ context.Context, s *scope) error {
	if s.execution == nil {
		return nil
	}
	status := &s.execution.Status
	if status.JobIDFinished != s.inst.Status.JobID {
		return kit.ErrStop
	}
	if status.Phase == v1alpha1.PhaseSucceeded {
		return nil
	}
	return executionFailure(s.execution)
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
