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

// observeExecution ends the job when the Execution has ended it, and waits for the next event otherwise.
func (r *Reconciler) observeExecution(_ context.Context, s *scope) error {
	if s.execution == nil {
		s.succeed()
		return nil
	}
	status := &s.execution.Status
	if status.JobIDFinished != s.inst.Status.JobID {
		return nil
	}
	if status.Phase == v1alpha1.PhaseSucceeded {
		s.succeed()
		return nil
	}
	s.fail(executionFailure(s.execution))
	return nil
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
