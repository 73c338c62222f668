// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// maxErrors is how many errors of a job the status keeps.
const maxErrors = 5

// failureOf describes an error for status: with the whole message, all codes of the chain, and a reason that conditions accept.
func failureOf(err error) *kit.Failure {
	inner := kit.AsFailure(operationReconcile, err)
	failure := &kit.Failure{
		Kind: inner.Kind, Operation: inner.Operation, Reason: kit.Reason(inner.Reason), Codes: kit.CodesOf(err),
		Err: errors.New(kit.Message(err.Error())),
	}
	if kit.IsUnrecoverable(err) {
		failure.Kind = kit.Stalled
	}
	if failure.Operation == "" {
		failure.Operation = operationReconcile
	}
	return failure
}

func operationOf(err error) string {
	if err == nil {
		return operationReconcile
	}
	return failureOf(err).Operation
}

// recordFailure writes an error into the status. It returns whether the message is new, so that it deserves an event.
func recordFailure(item *v1alpha1.DeployItem, failure *kit.Failure, now time.Time) bool {
	status := &item.Status
	before := status.LastError
	status.LastError = kit.NewError(before, failure, now)
	if before != nil && before.Message == status.LastError.Message {
		return false
	}
	if status.FirstError == nil {
		status.FirstError = status.LastError.DeepCopy()
	}
	status.LastErrors = append(status.LastErrors, status.LastError.DeepCopy())
	if surplus := len(status.LastErrors) - maxErrors; surplus > 0 {
		status.LastErrors = status.LastErrors[surplus:]
	}
	return true
}
